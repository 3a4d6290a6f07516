#include "cli/screen/lock_board.h"

#include <algorithm>

#include "holdfast/lock_scope.h"

namespace holdfast::cli {

namespace {

std::string kind_of(std::string_view kind) {
    return std::string(kind == "range" ? "inode" : kind);
}

// A lock that an event is about.
struct Place {
    std::string kind, name;
    std::string scope;  // for a range: which part of the inode
};

// All locks of an event. The first is the one that it names.
std::vector<Place> places_of(const base::JsonValue& data) {
    std::vector<Place> places{{.kind = kind_of(data["kind"].text()),
                               .name = name_of(data),
                               .scope = std::string(data["scope"].text())}};
    const auto& scopes = data["scopes"].items();
    for (std::size_t index = 1; index < scopes.size(); ++index) {
        const std::string text(scopes[index].text());
        const auto scope = LockScope::parse(text);
        if (!scope) continue;
        if (const auto* const range = std::get_if<LockScope::ByteRange>(&scope->value())) {
            places.push_back({"inode", std::to_string(range->inode), text});
        } else if (const auto* const named = std::get_if<LockScope::Named>(&scope->value())) {
            places.push_back({"named", named->name, ""});
        } else {
            const std::size_t colon = text.find(':');
            places.push_back({text.substr(0, colon), text.substr(colon + 1), ""});
        }
    }
    return places;
}

void put_holder(LockRow& lock, const base::JsonValue& data, const std::string& scope) {
    const auto number = static_cast<std::uint64_t>(number_of(data["fencing_token"]));
    auto holder = std::find_if(lock.holders.begin(), lock.holders.end(),
                               [&](const HolderRow& row) { return row.fencing_token == number; });
    if (holder == lock.holders.end()) {
        holder =
            lock.holders.insert(lock.holders.end(), {.owner = std::string(data["owner_id"].text()),
                                                     .door = std::string(data["door"].text()),
                                                     .mode = std::string(data["mode"].text()),
                                                     .scope = scope,
                                                     .scopes = read_texts(data["scopes"]),
                                                     .fencing_token = number,
                                                     .acquired_ms = number_of(data["at_ms"])});
    }
    holder->metadata = data["metadata"].text();
    holder->expires_ms = number_of(data["lease_expiry_ms"]);
    holder->ttl_ms = holder->is_endless() ? 0 : holder->expires_ms - number_of(data["at_ms"]);
    holder->grace_until_ms = 0;
}

void remove_holder(LockRow& lock, const base::JsonValue& data) {
    const auto number = static_cast<std::uint64_t>(number_of(data["fencing_token"]));
    std::erase_if(lock.holders, [&](const HolderRow& row) { return row.fencing_token == number; });
}

// After the expiry of a lease, the lock may be reserved for its last owner for a while (grace).
void expire_holder(LockRow& lock, const base::JsonValue& data) {
    const std::int64_t grace_until_ms = number_of(data["grace_until_ms"]);
    if (grace_until_ms <= number_of(data["at_ms"])) return remove_holder(lock, data);
    const auto number = static_cast<std::uint64_t>(number_of(data["fencing_token"]));
    for (HolderRow& row : lock.holders) {
        if (row.fencing_token == number) row.grace_until_ms = grace_until_ms;
    }
}

void add_waiter(LockRow& lock, const base::JsonValue& data, const std::string& scope) {
    lock.waiters.push_back({.owner = std::string(data["owner_id"].text()),
                            .door = std::string(data["door"].text()),
                            .mode = std::string(data["mode"].text()),
                            .scope = scope,
                            .scopes = read_texts(data["scopes"]),
                            .metadata = std::string(data["metadata"].text()),
                            .since_ms = number_of(data["at_ms"])});
}

void remove_waiter(LockRow& lock, const base::JsonValue& data, const std::string& scope) {
    const auto scopes = read_texts(data["scopes"]);
    const auto is_it = [&](const WaiterRow& row) {
        return row.owner == data["owner_id"].text() && row.door == data["door"].text() &&
               row.scope == scope && row.scopes == scopes;
    };
    const auto waiter = std::find_if(lock.waiters.begin(), lock.waiters.end(), is_it);
    if (waiter == lock.waiters.end()) return;
    lock.waiters.erase(waiter);
    if (lock.waiter_count > 0) --lock.waiter_count;
}

void change(LockRow& lock, std::string_view kind, const base::JsonValue& data,
            const std::string& scope) {
    if (kind == "granted" || kind == "renewed") {
        if (!data["waited_ms"].is_null()) remove_waiter(lock, data, scope);
        put_holder(lock, data, scope);
    } else if (kind == "released" || kind == "grace_ended") {
        remove_holder(lock, data);
    } else if (kind == "expired") {
        expire_holder(lock, data);
    } else if (kind == "queued") {
        add_waiter(lock, data, scope);
        ++lock.waiter_count;
    } else if (kind == "wait_timed_out" || kind == "wait_cancelled") {
        remove_waiter(lock, data, scope);
    }
}

// In a queue, every waiter waits for the one before. Ranges have no such order: the thing in the way
// is known only for waiters that the server has listed.
void say_who_waits_for_whom(LockRow& lock) {
    if (lock.kind == "inode") return;
    std::string before = lock.holders.empty() ? "" : lock.holders.front().owner;
    for (WaiterRow& waiter : lock.waiters) {
        waiter.waits_for = before;
        before = waiter.owner;
    }
}

}  // namespace

void LockBoard::replace(std::vector<LockRow> locks) {
    locks_.clear();
    for (LockRow& lock : locks) {
        lock.kind = kind_of(lock.kind);
        locks_.insert_or_assign({lock.kind, lock.name}, std::move(lock));
    }
}

LockRow& LockBoard::find_or_add(const std::string& kind, const std::string& name) {
    LockRow& lock = locks_[{kind, name}];
    lock.kind = kind;
    lock.name = name;
    return lock;
}

// The length of the queue and the limit are those of the first lock.
void LockBoard::apply(std::string_view kind, const base::JsonValue& data) {
    if (data["lock_name"].is_null()) return;  // of a session, a fence or a deadlock
    const std::vector<Place> places = places_of(data);
    for (const Place& place : places) {
        LockRow& lock = find_or_add(place.kind, place.name);
        change(lock, kind, data, place.scope);
        if (&place == &places.front()) {
            lock.waiter_count = static_cast<std::uint64_t>(number_of(data["queue_length"]));
            if (lock.waiters.size() > lock.waiter_count) lock.waiters.resize(lock.waiter_count);
            if (const auto limit = data["limit"].natural()) lock.limit = *limit;
        }
        say_who_waits_for_whom(lock);
        if (lock.holders.empty() && lock.waiter_count == 0) locks_.erase({lock.kind, lock.name});
    }
}

std::uint64_t LockBoard::held() const {
    std::uint64_t count = 0;
    for (const auto& [key, lock] : locks_) count += lock.holders.size();
    return count;
}

std::uint64_t LockBoard::waiting() const {
    std::uint64_t count = 0;
    for (const auto& [key, lock] : locks_) count += lock.waiter_count;
    return count;
}

}  // namespace holdfast::cli
