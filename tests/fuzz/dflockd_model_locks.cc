// The commands of DflockdModel that are about locks, and how a lock goes from one to the next.

#include <algorithm>

#include "dflockd_model.h"
#include "dflockd_words.h"

namespace holdfast::fuzz {

void DflockdModel::say(int number, const std::string& line) {
    connections_[number].answers.push_back({.text = line});
}

// The last answer; the server closes the connection after it.
void DflockdModel::end(int number, const std::string& line) {
    say(number, line);
    connections_[number].is_over = true;
    connections_[number].is_closed = true;
}

bool DflockdModel::is_free(const Lock& lock) const {
    return lock.waiters.empty() && lock.holders.size() < lock.limit;
}

Answer DflockdModel::give(const std::string& key, int number, std::int64_t lease,
                          const std::string& word) {
    const std::size_t grant = grants_.size();
    grants_.push_back({.key = key, .step = step_, .token = ""});
    locks_[key].holders.push_back({.connection = number, .grant = grant, .ends_at = now_ + lease});
    return {.kind = Answer::Kind::grant, .text = word, .grant = grant, .number = lease};
}

// First come, first served. A lock that nobody has or wants is forgotten, with its limit.
void DflockdModel::hand_on(const std::string& key) {
    const auto found = locks_.find(key);
    if (found == locks_.end()) return;
    Lock& lock = found->second;
    while (!lock.waiters.empty() && lock.holders.size() < lock.limit) {
        const Waiter next = lock.waiters.front();
        lock.waiters.pop_front();
        const Answer answer = give(key, next.connection, next.lease, "ok");
        Connection& connection = connections_[next.connection];
        if (next.is_entry) {
            connection.entries[key].state = Entry::State::granted;
            connection.entries[key].grant = answer.grant;
        } else {
            connection.late = answer;
        }
    }
    if (lock.holders.empty() && lock.waiters.empty()) locks_.erase(found);
}

// The connection has closed, or has stopped sending while it waits: all it has goes to others.
void DflockdModel::leave(int number) {
    Connection& connection = connections_[number];
    if (connection.is_waiting) {
        connection.late = Answer{.text = "error"};
        connection.is_over = true;
    }
    connection.entries.clear();
    std::vector<std::string> keys;
    for (auto& [key, lock] : locks_) {
        keys.push_back(key);
        std::erase_if(lock.waiters, [&](const Waiter& w) { return w.connection == number; });
        std::erase_if(lock.holders, [&](const Holder& h) { return h.connection == number; });
    }
    for (const std::string& key : keys) hand_on(key);
}

DflockdModel::Holder* DflockdModel::find_holder(const std::string& key, const std::string& token) {
    const auto lock = locks_.find(key);
    if (lock == locks_.end()) return nullptr;
    for (Holder& holder : lock->second.holders) {
        const std::string& known = grants_[holder.grant].token;
        if (!known.empty() && known == token) return &holder;
    }
    return nullptr;
}

// `timeout [lease]`, and of a semaphore `timeout limit [lease]`.
void DflockdModel::run_lock(int number, const std::string& key, const Request& request) {
    const auto fields = fields_of(request.argument);
    const bool is_semaphore = key[0] == 's';
    const std::size_t needed = is_semaphore ? 2 : 1;
    if (fields.size() < needed) return say(number, "error");
    const auto timeout = seconds_of(fields[0]);
    const auto limit = is_semaphore ? number_of(fields[1]) : 1;
    const auto lease = lease_of(fields, needed);
    if (!timeout || !limit || !lease || *limit == 0) return say(number, "error");
    if (*limit > limit_max || *lease > lease_max_s) return say(number, "error");
    const auto found = locks_.find(key);
    if (found != locks_.end() && found->second.limit != *limit) {
        return say(number, "error_limit_mismatch");
    }
    Lock& lock = locks_[key];
    lock.limit = *limit;
    if (is_free(lock)) {
        connections_[number].answers.push_back(give(key, number, *lease, "ok"));
    } else if (lock.waiters.size() >= options_.waiters_max) {
        say(number, "error_max_waiters");
    } else if (*timeout == 0) {
        say(number, "timeout");
    } else {
        lock.waiters.push_back(
            {.connection = number, .lease = *lease, .deadline = now_ + *timeout});
        connections_[number].is_waiting = true;
        if (connections_[number].has_stopped_sending) leave(number);
    }
}

// `[lease]`, and of a semaphore `limit [lease]`.
void DflockdModel::run_enqueue(int number, const std::string& key, const Request& request) {
    const auto fields = fields_of(request.argument);
    const bool is_semaphore = key[0] == 's';
    const std::size_t needed = is_semaphore ? 1 : 0;
    if (fields.size() < needed) return say(number, "error");
    const auto limit = is_semaphore ? number_of(fields[0]) : 1;
    const auto lease = lease_of(fields, needed);
    if (!limit || !lease || *limit == 0 || *limit > limit_in_32_bits) return say(number, "error");
    auto& entries = connections_[number].entries;
    const auto entry = entries.find(key);
    if (entry != entries.end() && entry->second.state != Entry::State::expired) {
        return say(number, "error_already_enqueued");
    }
    if (*limit > limit_max || *lease > lease_max_s) return say(number, "error");
    const auto found = locks_.find(key);
    if (found != locks_.end() && found->second.limit != *limit) {
        return say(number, "error_limit_mismatch");
    }
    Lock& lock = locks_[key];
    lock.limit = *limit;
    if (is_free(lock)) {
        const Answer answer = give(key, number, *lease, "acquired");
        entries[key] = {.state = Entry::State::granted, .lease = *lease, .grant = answer.grant};
        connections_[number].answers.push_back(answer);
    } else if (lock.waiters.size() >= options_.waiters_max) {
        say(number, "error_max_waiters");
    } else {
        lock.waiters.push_back({.connection = number, .lease = *lease, .is_entry = true});
        entries[key] = {.state = Entry::State::queued, .lease = *lease};
        say(number, "queued");
    }
}

// `timeout`. Whatever comes of it, the entry is used up.
void DflockdModel::run_wait(int number, const std::string& key, const Request& request) {
    const auto fields = fields_of(request.argument);
    const auto timeout = fields.size() == 1 ? seconds_of(fields[0]) : std::nullopt;
    if (!timeout) return say(number, "error");
    Connection& connection = connections_[number];
    const auto found = connection.entries.find(key);
    if (found == connection.entries.end()) return say(number, "error_not_enqueued");
    const Entry entry = found->second;
    connection.entries.erase(found);
    if (entry.state == Entry::State::expired) return say(number, "error_lease_expired");
    Lock& lock = locks_[key];
    if (entry.state == Entry::State::granted) {
        for (Holder& holder : lock.holders) {
            if (holder.grant == entry.grant) holder.ends_at = now_ + entry.lease;
        }
        connection.answers.push_back({.kind = Answer::Kind::grant,
                                      .text = "ok",
                                      .grant = entry.grant,
                                      .number = entry.lease});
        return;
    }
    const auto waiter =
        std::find_if(lock.waiters.begin(), lock.waiters.end(),
                     [&](const Waiter& w) { return w.connection == number && w.is_entry; });
    if (*timeout == 0) {
        lock.waiters.erase(waiter);
        return say(number, "timeout");
    }
    waiter->is_entry = false;
    waiter->deadline = now_ + *timeout;
    connection.is_waiting = true;
    if (connection.has_stopped_sending) leave(number);
}

// `token`, from any connection.
void DflockdModel::run_release(int number, const std::string& key, const Request& request) {
    const auto fields = fields_of(request.argument);
    Holder* const holder = fields.size() == 1 ? find_holder(key, fields[0]) : nullptr;
    if (holder == nullptr) return say(number, "error");
    auto& entries = connections_[holder->connection].entries;
    const auto entry = entries.find(key);
    const bool is_its = entry != entries.end() && entry->second.state == Entry::State::granted &&
                        entry->second.grant == holder->grant;
    if (is_its) entries.erase(entry);
    auto& holders = locks_[key].holders;
    holders.erase(holders.begin() + (holder - holders.data()));
    say(number, "ok");
    hand_on(key);
}

// `token [lease]`, from any connection.
void DflockdModel::run_renew(int number, const std::string& key, const Request& request) {
    const auto fields = fields_of(request.argument);
    const auto lease = fields.empty() ? std::nullopt : lease_of(fields, 1);
    if (!lease) return say(number, "error");
    Holder* const holder = find_holder(key, fields[0]);
    if (holder != nullptr && *lease <= lease_max_s) {
        holder->ends_at = now_ + *lease;
        return say(number, "ok " + std::to_string(*lease));
    }
    say(number, "error");
}

}  // namespace holdfast::fuzz
