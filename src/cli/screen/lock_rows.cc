#include "cli/screen/lock_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "holdfast/lock_scope.h"
#include "net/client/url.h"

namespace holdfast::cli {

namespace {

HolderRow read_holder(const base::JsonValue& json) {
    HolderRow holder{.owner = std::string(json["owner_id"].text()),
                     .door = std::string(json["door"].text()),
                     .scope = std::string(json["scope"].text()),
                     .scopes = read_texts(json["scopes"]),
                     .metadata = std::string(json["metadata"].text()),
                     .fencing_token = static_cast<std::uint64_t>(number_of(json["fencing_token"])),
                     .expires_ms = number_of(json["lease_expiry_ms"]),
                     .ttl_ms = number_of(json["ttl_ms"]),
                     .acquired_ms = number_of(json["acquired_ms"]),
                     .grace_until_ms = number_of(json["grace_until_ms"])};
    if (!json["mode"].text().empty()) holder.mode = json["mode"].text();
    return holder;
}

// Adds the holders of one answer, and where the others begin.
void add_holders(LockRow& lock, const base::JsonValue& json) {
    for (const base::JsonValue& holder : json["holders"].items()) {
        lock.holders.push_back(read_holder(holder));
    }
    lock.holders_next = json["holders_next"].text();
    const auto count = static_cast<std::uint64_t>(number_of(json["holder_count"]));
    lock.holders_left_out = count > lock.holders.size() ? count - lock.holders.size() : 0;
}

LockRow read_common(const base::JsonValue& json) {
    LockRow lock{.name = name_of(json)};
    if (!json["kind"].text().empty()) lock.kind = json["kind"].text();
    if (const auto limit = json["limit"].number()) {
        lock.kind = "semaphore";
        lock.limit = static_cast<std::uint64_t>(*limit);
    }
    add_holders(lock, json);
    return lock;
}

}  // namespace

std::string name_of(const base::JsonValue& json) {
    const std::string_view bytes = json["name_bytes"].text();
    if (!bytes.empty()) return net::percent_decode(bytes).value_or("");
    return std::string(json["lock_name"].text());
}

std::int64_t number_of(const base::JsonValue& json) {
    return json.number().value_or(0);
}

LockRow read_listed_lock(const base::JsonValue& json) {
    LockRow lock = read_common(json);
    lock.waiter_count = static_cast<std::uint64_t>(number_of(json["waiters"]));
    return lock;
}

LockRow read_shown_lock(const base::JsonValue& json) {
    LockRow lock = read_common(json);
    if (lock.holders.empty() && json["held"].is_true()) lock.holders.push_back(read_holder(json));
    lock.waiter_count = static_cast<std::uint64_t>(number_of(json["queue_length"]));
    lock.waiters = read_queue(json["queue"]);
    return lock;
}

std::vector<WaiterRow> read_queue(const base::JsonValue& queue) {
    std::vector<WaiterRow> waiters;
    for (const base::JsonValue& json : queue.items()) {
        waiters.push_back({.owner = std::string(json["owner_id"].text()),
                           .door = std::string(json["door"].text()),
                           .mode = std::string(json["mode"].text()),
                           .scope = std::string(json["scope"].text()),
                           .scopes = read_texts(json["scopes"]),
                           .waits_for = std::string(json["waits_for"].text()),
                           .metadata = std::string(json["metadata"].text()),
                           .since_ms = number_of(json["waiting_since_ms"]),
                           .until_ms = number_of(json["wait_until_ms"])});
    }
    return waiters;
}

Asked<void> add_other_holders(LockRow& lock, const GetJson& get) {
    while (!lock.holders_next.empty()) {
        const auto page = get(lock_target(lock.name, lock.kind) +
                              "&holders_after=" + net::percent_encode(lock.holders_next));
        if (!page) return tl::unexpected(page.error());
        TRY(next_page((*page)["holders_next"], lock.holders_next));
        add_holders(lock, *page);
    }
    return {};
}

Asked<void> add_other_holders(LockRow& lock, Server& server) {
    return add_other_holders(lock, [&server](const std::string& target) {
        return server.get(target).map([](Answer answer) { return std::move(answer.json); });
    });
}

std::string scope_text(const LockRow& lock) {
    if (lock.kind == "named") return LockScope(LockScope::Named{lock.name}).to_text();
    return fmt::format("{}:{}", lock.kind, lock.name);
}

std::string scope_text(const LockRow& lock, const HolderRow& holder) {
    return holder.scope.empty() ? scope_text(lock) : holder.scope;
}

std::string scope_of_event(const base::JsonValue& data) {
    if (!data["scope"].text().empty()) return std::string(data["scope"].text());
    if (data["lock_name"].is_null()) return "";
    return scope_text({.name = name_of(data), .kind = std::string(data["kind"].text())});
}

std::vector<std::string> read_texts(const base::JsonValue& list) {
    std::vector<std::string> texts;
    for (const base::JsonValue& item : list.items()) texts.emplace_back(item.text());
    return texts;
}

std::string set_text(const std::string& scope, const std::vector<std::string>& scopes) {
    constexpr std::size_t shown_max = 3;
    std::vector<std::string> others = scopes;
    std::erase(others, scope);
    if (others.empty()) return "";
    std::string text;
    const std::size_t shown = std::min(others.size(), shown_max);
    for (std::size_t index = 0; index < shown; ++index) {
        text += (text.empty() ? "" : ", ") + others[index];
    }
    if (shown < others.size()) text += fmt::format(", {} more", others.size() - shown);
    return " (and " + text + ")";
}

std::string kind_text(const LockRow& lock) {
    if (lock.kind != "semaphore") return lock.kind;
    return fmt::format("semaphore {}/{}", lock.holders.size() + lock.holders_left_out, lock.limit);
}

}  // namespace holdfast::cli
