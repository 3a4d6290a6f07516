#include "cli/lock_json.h"

#include <fmt/format.h>

#include "base/json/json.h"
#include "base/json/json_writer.h"
#include "base/text/percent.h"
#include "base/text/utf8.h"
#include "cli/screen/terminal_text.h"

namespace holdfast::cli {

namespace {

void append_time(base::JsonWriter& json, std::string_view name, std::int64_t unix_ms) {
    if (unix_ms > 0) json.field(name, moment(unix_ms));
}

void append_scopes(base::JsonWriter& json, const std::vector<std::string>& scopes) {
    if (scopes.empty()) return;
    json.begin_array("scopes");
    for (const std::string& scope : scopes) json.element(scope);
    json.end_array();
}

void append_holder(base::JsonWriter& json, const LockRow& lock, const HolderRow& holder) {
    json.begin_object()
        .field("holder", holder.owner)
        .field("scope", scope_text(lock, holder))
        .field("mode", holder.mode)
        .field("fencing_token", holder.fencing_token);
    append_time(json, "acquired_at", holder.acquired_ms);
    append_time(json, "expires_at", holder.expires_ms);
    append_time(json, "grace_until", holder.grace_until_ms);
    if (holder.ttl_ms > 0) json.field("ttl_ms", holder.ttl_ms);
    json.field("door", holder.door);
    if (!holder.metadata.empty()) json.field("metadata", holder.metadata);
    append_scopes(json, holder.scopes);
    json.end_object();
}

void append_waiter(base::JsonWriter& json, const LockRow& lock, const WaiterRow& waiter) {
    json.begin_object()
        .field("waiter", waiter.owner)
        .field("scope", waiter.scope.empty() ? scope_text(lock) : waiter.scope)
        .field("mode", waiter.mode)
        .field("waits_for", waiter.waits_for);
    append_time(json, "waiting_since", waiter.since_ms);
    append_time(json, "wait_until", waiter.until_ms);
    json.field("door", waiter.door);
    if (!waiter.metadata.empty()) json.field("metadata", waiter.metadata);
    append_scopes(json, waiter.scopes);
    json.end_object();
}

// A field of an event, under the name that it has everywhere else; a time in milliseconds becomes
// a text. Empty: the field is left out.
struct EventField {
    std::string_view name;
    std::string_view meaning;
    bool is_time = false;
};
constexpr EventField renamed_fields[] = {
    {.name = "lock_name", .meaning = ""},  // `scope` says it
    {.name = "scope", .meaning = ""},
    {.name = "owner_id", .meaning = "holder"},
    {.name = "at_ms", .meaning = "at", .is_time = true},
    {.name = "acquired_ms", .meaning = "acquired_at", .is_time = true},
    {.name = "lease_expiry_ms", .meaning = "expires_at", .is_time = true},
    {.name = "grace_until_ms", .meaning = "grace_until", .is_time = true},
    {.name = "waiting_since_ms", .meaning = "waiting_since", .is_time = true},
    {.name = "wait_until_ms", .meaning = "wait_until", .is_time = true},
};

void append_field(std::string& line, std::string_view name, const base::JsonValue& value) {
    EventField field{.name = name, .meaning = name};
    for (const EventField& renamed : renamed_fields) {
        if (renamed.name == name) field = renamed;
    }
    if (field.meaning.empty()) return;
    line += ',';
    base::append_json_string(line, field.meaning);
    line += ':';
    if (field.is_time && value.number()) {
        base::append_json_string(line, moment(*value.number()));
    } else {
        line += value.to_json();
    }
}

}  // namespace

std::string lock_json(const LockRow& lock, const std::string& scope, bool has_queue) {
    std::string text;
    base::JsonWriter json(text);
    json.begin_object().field("scope", scope);
    if (!base::is_utf8(lock.name)) json.field("name_bytes", base::percent_encode(lock.name));
    json.field("kind", lock.kind);
    if (lock.kind == "semaphore") json.field("limit", lock.limit);
    json.field("held", !lock.holders.empty()).begin_array("holders");
    for (const HolderRow& holder : lock.holders) append_holder(json, lock, holder);
    json.end_array().field("queue_length", lock.waiter_count);
    if (has_queue) {
        json.begin_array("waiters");
        for (const WaiterRow& waiter : lock.waiters) append_waiter(json, lock, waiter);
        json.end_array();
    }
    json.end_object();
    return text;
}

std::string session_json(const base::JsonValue& session) {
    std::string text;
    base::JsonWriter json(text);
    json.begin_object()
        .field("id", session["id"].text())
        .field("door", session["door"].text())
        .field("owner", session["owner_id"].text());
    append_time(json, "opened_at", number_of(session["opened_at_ms"]));
    json.field("leases", number_of(session["leases"]))
        .field("waits", number_of(session["waits"]))
        .end_object();
    return text;
}

std::string event_json(const LockEvent& event) {
    const auto data = base::JsonValue::parse(event.data).value_or(base::JsonValue());
    std::string line =
        fmt::format("{{\"id\":{},\"event\":", event.id ? std::to_string(*event.id) : "null");
    base::append_json_string(line, event.kind);
    if (const std::string scope = scope_of_event(data); !scope.empty()) {
        line += ",\"scope\":";
        base::append_json_string(line, scope);
    }
    for (const auto& [name, value] : data.fields()) append_field(line, name, value);
    return line + "}";
}

}  // namespace holdfast::cli
