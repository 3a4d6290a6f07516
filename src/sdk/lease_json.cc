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

LockMode read_mode(const JsonValue& value) {
    return value.text() == "shared" ? LockMode::shared : LockMode::exclusive;
}

// The locks of a lease on several. One that we do not understand is left out.
std::vector<LockSetMember> read_members(const JsonValue& list) {
    std::vector<LockSetMember> members;
    for (const JsonValue& item : list.items()) {
        auto scope = read_scope(item["scope"]);
        if (!scope) continue;
        members.push_back({.scope = *std::move(scope),
                           .mode = read_mode(item["mode"]),
                           .limit = item["limit"].natural().value_or(1)});
    }
    return members;
}

void append_member(base::JsonWriter& json, const LockSetMember& member) {
    json.field("scope", member.scope.to_text());
    if (member.mode == LockMode::shared) json.field("mode", "shared");
    const bool is_semaphore = std::holds_alternative<LockScope::Semaphore>(member.scope.value());
    if (is_semaphore) json.field("limit", member.limit);
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
    const bool is_complete = !value["token"].text().empty() && value["ttl_ms"].number();
    if (!is_complete) return std::nullopt;
    return read_listed_lease(value);
}

std::optional<Lease> read_listed_lease(const JsonValue& value) {
    auto scope = read_scope(value["scope"]);
    const auto fencing_token = value["fencing_token"].natural();
    const auto ttl_ms = value["ttl_ms"].number();  // none: the lease has no end
    if (!scope || !fencing_token) return std::nullopt;
    return Lease{
        .scope = *std::move(scope),
        .holder = std::string(value["holder"].text()),
        .mode = read_mode(value["mode"]),
        .token = std::string(value["token"].text()),
        .fencing_token = *fencing_token,
        .ttl = ttl_ms ? std::chrono::milliseconds{*ttl_ms} : std::chrono::milliseconds::max(),
        .metadata = std::string(value["metadata"].text()),
        .acquired_at = read_time(value["acquired_at"]),
        .expires_at =
            ttl_ms ? read_time(value["expires_at"]) : std::chrono::system_clock::time_point::max(),
        .scopes = read_members(value["scopes"]),
        .value = std::string(value["value"].text()),
        .revision = value["revision"].natural().value_or(0)};
}

std::vector<DeadlockMember> read_cycle(const JsonValue& cycle) {
    std::vector<DeadlockMember> members;
    for (const JsonValue& item : cycle.items()) {
        members.push_back({.holder = std::string(item["holder"].text()),
                           .waiter = std::string(item["waiter"].text()),
                           .door = std::string(item["door"].text()),
                           .waits_for = read_scope(item["waits_for"]).value_or(LockScope::Named{}),
                           .held_by = std::string(item["held_by"].text()),
                           .fencing_token = item["fencing_token"].natural().value_or(0),
                           .is_hidden = item["hidden"].is_true()});
    }
    return members;
}

LockDeadlock read_deadlock(const JsonValue& value) {
    return {.scope = read_scope(value["scope"]).value_or(LockScope::Named{}),
            .cycle = read_cycle(value["cycle"])};
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
    const std::vector<LockSetMember> members = values::members_of(request);
    std::string body;
    base::JsonWriter json(body);
    json.begin_object();
    if (members.size() == 1) {
        append_member(json, members.front());
    } else {
        json.begin_array("scopes");
        for (const LockSetMember& member : members) {
            json.begin_object();
            append_member(json, member);
            json.end_object();
        }
        json.end_array();
    }
    json.field("holder", request.holder)
        .field("ttl_ms", request.ttl.count())
        .field("request_id", fields.request_id)
        .field("wait_ms", fields.wait.count());
    if (!request.metadata.empty()) json.field("metadata", request.metadata);
    if (!request.value.empty()) json.field("value", request.value);
    json.field("waiter", request.waiter);
    if (request.on_deadlock == OnDeadlock::refuse) json.field("on_deadlock", "refuse");
    json.end_object();
    return body;
}

std::optional<LockError> find_fault(std::string_view text) {
    if (base::is_utf8(text)) return std::nullopt;
    return InvalidLockRequest{"'" + std::string(text) + "' is not UTF-8, which the server speaks"};
}

std::optional<LockError> find_fault(const LeaseRequest& request) {
    std::vector<std::string> texts{request.holder, request.metadata, request.request_id,
                                   request.waiter, request.value};
    for (const LockSetMember& member : values::members_of(request)) {
        texts.push_back(member.scope.to_text());
    }
    for (const std::string& text : texts) {
        if (auto fault = find_fault(text)) return fault;
    }
    return values::find_fault(request);
}

}  // namespace holdfast::sdk
