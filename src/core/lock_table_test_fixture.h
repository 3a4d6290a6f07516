#pragma once

// What the tests of the lock table share: short ways to ask, and events as short texts.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "core/lock_table.h"

namespace holdfast::core::testing {

using namespace std::chrono_literals;

// A moment, counted from the table's first.
inline Time at(Duration since_start) {
    return Time{since_start};
}

// An exclusive 30-second lease on a name: what most tests want.
inline AcquireRequest ask(std::string_view name, std::string_view owner) {
    return {.scope = Scope::named(name),
            .owner = {.name = owner},
            .ttl = 30s,
            .secret = Secret{0x5ec2e7}};
}

inline AcquireRequest ask(const Scope& scope, std::string_view owner) {
    AcquireRequest request = ask("", owner);
    request.scope = scope;
    return request;
}

// The same, ready to queue.
inline AcquireRequest queue(AcquireRequest request, Duration wait = wait_forever) {
    request.wait = wait;
    return request;
}

inline AcquireRequest shared(AcquireRequest request) {
    request.mode = Mode::shared;
    return request;
}

inline AcquireRequest in(SessionId session, AcquireRequest request) {
    request.session = session;
    return request;
}

// A lease that a store remembers, with all its time left.
inline RestoreRequest remembered(const AcquireRequest& request, std::uint64_t number) {
    RestoreRequest lease{request};
    lease.token = {.fence = Fence{number}, .secret = request.secret};
    lease.remaining = request.ttl;
    return lease;
}

inline Fence fence(std::uint64_t number) {
    return Fence{number};
}

// Lets everything happen that is due by `now`, in as many parts as it takes. Returns how many.
inline int advance_fully(LockTable& table, Time now) {
    int parts = 0;
    do {
        table.advance(now);
        ++parts;
    } while (table.is_behind());
    return parts;
}

// The owner of the only lease on a name; empty if there is none, or several.
inline std::string holder(const LockTable& table, std::string_view name) {
    const auto lock = table.inspect(Scope::named(name));
    return lock && lock->holders.size() == 1 ? std::string(lock->holders[0].owner.name) : "";
}

// The events so far, each as `granted job laptop1`; clears them.
inline std::vector<std::string> take_events(LockTable& table) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < table.changes().size(); ++i) {
        const Event event = table.changes()[i];
        std::string text{to_text(event.kind)};
        if (!event.lease.scope.name.empty()) text.append(" ").append(event.lease.scope.name);
        if (event.lease.scope.is_of_inode()) text.append(" ").append(to_text(event.lease.scope));
        text.append(" ").append(event.lease.owner.name);
        texts.push_back(std::move(text));
    }
    table.clear_changes();
    return texts;
}

// The scopes of the locks, as text.
inline std::vector<std::string> names(const std::vector<LockView>& locks) {
    std::vector<std::string> texts;
    texts.reserve(locks.size());
    for (const LockView& lock : locks) texts.push_back(to_text(lock.scope));
    return texts;
}

using Texts = std::vector<std::string>;
using Kind = Outcome::Kind;

}  // namespace holdfast::core::testing
