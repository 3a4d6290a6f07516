#include "sdk/lease_json.h"

#include "base/json/json_writer.h"
#include "base/text/rfc3339.h"
#include "base/text/utf8.h"

namespace holdfast::sdk {

namespace {

using base::JsonValue;

std::chrono::system_clock::time_point read_time(const JsonValue& value) {
    const auto time = base::parse_rfc3339(value.text());
    return time ? *time : std::chrono::system_clock::time_point{};
}

}  // namespace

std::string to_scope_text(const LockScope& scope, std::uint64_t limit) {
    const auto* const named = std::get_if<LockScope::Named>(&scope.value());
    if (named && limit > 1) return "semaphore:" + named->name;
    return scope.to_text();
}

std::optional<LockScope> read_scope(const JsonValue& value) {
    const auto kind = value["kind"].text();
    if (kind == "named" || kind == "semaphore") {
        return LockScope::Named{std::string(value["name"].text())};
    }
    if (kind == "path") return LockScope::Path{std::string(value["path"].text())};
    const auto inode = value["inode"].natural();
    if (!inode) return std::nullopt;
    if (kind == "inode") return LockScope::Inode{*inode};
    if (kind != "range") return std::nullopt;
    return LockScope::ByteRange{.inode = *inode,
                                .start = value["start"].natural().value_or(0),
                                .end = value["end"].natural().value_or(LockScope::end_of_file)};
}

std::optional<Lease> read_lease(const JsonValue& value) {
    auto scope = read_scope(value["scope"]);
    const auto fencing_token = value["fencing_token"].natural();
    const auto duration_ms = value["duration_ms"].number();
    const auto token = value["token"].text();
    if (!scope || !fencing_token || !duration_ms || token.empty()) return std::nullopt;
    const bool is_shared = value["mode"].text() == "shared";
    return Lease{.scope = *std::move(scope),
                 .owner = std::string(value["holder"].text()),
                 .mode = is_shared ? LockMode::shared : LockMode::exclusive,
                 .token = std::string(token),
                 .fencing_token = *fencing_token,
                 .ttl = std::chrono::milliseconds{*duration_ms},
                 .metadata = std::string(value["metadata"].text()),
                 .acquired_at = read_time(value["acquired_at"]),
                 .expires_at = read_time(value["expires_at"])};
}

LockHeld read_held(const JsonValue& value) {
    LockHeld held{.scope = read_scope(value["scope"]).value_or(LockScope::Named{}),
                  .holder = std::string(value["holder"].text()),
                  .expires_at = read_time(value["expires_at"])};
    if (const auto hint_ms = value["retry_after_ms"].number()) {
        held.retry_after = std::chrono::milliseconds{*hint_ms};
    }
    return held;
}

std::string to_json(const AcquireFields& fields) {
    const LeaseRequest& request = fields.request;
    std::string body;
    base::JsonWriter json(body);
    json.begin_object()
        .field("scope", to_scope_text(request.scope, request.limit))
        .field("holder", request.owner)
        .field("duration_ms", request.ttl.count())
        .field("request_id", fields.request_id)
        .field("wait_ms", fields.wait.count());
    if (request.mode == LockMode::shared) json.field("mode", "shared");
    if (request.limit > 1) json.field("limit", request.limit);
    if (!request.metadata.empty()) json.field("metadata", request.metadata);
    json.end_object();
    return body;
}

std::optional<LockError> find_fault(const LeaseRequest& request) {
    for (const std::string& text :
         {request.scope.to_text(), request.owner, request.metadata, request.request_id}) {
        if (!base::is_utf8(text)) {
            return InvalidLockRequest{"'" + text + "' is not UTF-8, which the server speaks"};
        }
    }
    const bool is_named = std::holds_alternative<LockScope::Named>(request.scope.value());
    if (request.limit == 0) return InvalidLockRequest{"a limit of 0 would let nobody in"};
    if (request.limit > 1 && !is_named) {
        return InvalidLockRequest{"only a name can be a semaphore: " + request.scope.to_text()};
    }
    if (request.ttl <= std::chrono::milliseconds{0}) {
        return InvalidLockRequest{"a lease must last for a millisecond at least"};
    }
    return std::nullopt;
}

}  // namespace holdfast::sdk
