#include "sdk/http/answer.h"

#include "sdk/lease_json.h"

namespace holdfast::sdk {

std::string Answer::message() const {
    for (const char* const field : {"message", "error"}) {
        if (const auto said = body[field].text(); !said.empty()) return std::string(said);
    }
    return "status " + std::to_string(status);
}

bool Answer::is_temporary() const {
    return status == 502 || status == 503 || status == 504;
}

LockError Answer::to_error() const {
    const std::string_view code = reason();
    if (code == "LockHeld") return read_held(body);
    if (code == "LockExpired" || code == "RequestEnded") return LockExpired{};
    if (code == "LockNotFound") return LockNotFound{};
    if (code == "LimitReached") return LockLimitReached{.message = message()};
    if (code == "StaleFence") {
        return StaleFence{.resource = std::string(body["resource"].text()),
                          .fencing_token = body["fencing_token"].natural().value_or(0),
                          .highest = body["highest"].natural().value_or(0)};
    }
    if (status == 401 || status == 403) return NotPermitted{.message = message()};
    if (status >= 500) return ServerUnavailable{.message = message()};
    return InvalidLockRequest{.message = message()};
}

}  // namespace holdfast::sdk
