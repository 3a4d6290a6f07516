#include "sdk/lease_json.h"

#include "base/json/json_writer.h"
#include "base/text/rfc3339.h"
#include "base/text/utf8.h"
#include "values/lease_request.h"

namespace holdfast::sdk {

namespace {

using base::JsonValue;

std::chrono::system_clock::time_point read_time(const JsonValue& value) {
    const auto time = base::parse_rfc3339(value.text());
    return time ? *time : std::chrono::system_clock::time_point{};
}

}  // namespace

std::optional<LockScope> read_scope(const JsonValue& value) {
    const auto kind = value["kind"].text();
    if (kind == "named") return LockScope::Named{std::string(value["name"].text())};
    if (kind == "semaphore") return LockScope::Semaphore{std::string(value["name"].text())};
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
    const auto ttl_ms = value["ttl_ms"].number();
    const auto token = value["token"].text();
    if (!scope || !fencing_token || !ttl_ms || token.empty()) return std::nullopt;
    const bool is_shared = value["mode"].text() == "shared";
    return Lease{.scope = *std::move(scope),
                 .owner = std::string(value["holder"].text()),
                 .mode = is_shared ? LockMode::shared : LockMode::exclusive,
                 .token = std::string(token),
                 .fencing_token = *fencing_token,
                 .ttl = std::chrono::milliseconds{*ttl_ms},
                 .metadata = std::string(value["metadata"].text()),
                 .acquired_at = read_time(value["acquired_at"]),
                 .expires_at = read_time(value["expires_at"])};
}

LockHeld read_held(const JsonValue& value) {
    LockHeld held{.scope = read_scope(value["scope"]).value_or(LockScope::Named{}),
                  .holder = std::string(value["holder"].text()),
                  .expires_at = read_time(value["expires_at"])};
    const bool is_endless = !held.holder.empty() && value["expires_at"].is_null();
    if (is_endless) held.expires_at = std::chrono::system_clock::time_point::max();
    if (const auto hint_ms = value["retry_after_ms"].number()) {
        held.retry_after = std::chrono::milliseconds{*hint_ms};
    }
    return held;
}

std::string to_json(const AcquireFields& fields) {
    const LeaseRequest& request = fields.request;
    const LockScope scope = values::scope_of(request);
    const bool is_semaphore = std::holds_alternative<LockScope::Semaphore>(scope.value());
    std::string body;
    base::JsonWriter json(body);
    json.begin_object()
        .field("scope", scope.to_text())
        .field("holder", request.owner)
        .field("ttl_ms", request.ttl.count())
        .field("request_id", fields.request_id)
        .field("wait_ms", fields.wait.count());
    if (request.mode == LockMode::shared) json.field("mode", "shared");
    if (is_semaphore) json.field("limit", request.limit);
    if (!request.metadata.empty()) json.field("metadata", request.metadata);
    if (!request.value.empty()) json.field("value", request.value);
    json.end_object();
    return body;
}

std::optional<LockError> find_fault(const LeaseRequest& request) {
    for (const std::string& text :
         {request.scope.to_text(), request.owner, request.metadata, request.request_id,
          request.value}) {
        if (!base::is_utf8(text)) {
            return InvalidLockRequest{"'" + text + "' is not UTF-8, which the server speaks"};
        }
    }
    return values::find_fault(request);
}

}  // namespace holdfast::sdk
