#pragma once

// One call on a lock table, as data. The call can be made on any table with the same interface.

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/lock_table.h"
#include "model/text.h"

namespace holdfast::model {

enum class Operation : std::uint8_t {
    acquire,
    release,
    renew,
    set_value,
    cancel,
    enqueue,
    wait,
    release_own,
    force_release,
    open_session,
    end_session,
    advance,
};

// Waiters and sessions are named by running numbers, so that the same call can be made on tables
// that use different ids. Number 0, and a number that was not given out yet, name no waiter or
// session.
struct Call {
    Operation operation = Operation::advance;
    core::Time now;
    core::AcquireRequest request;  // acquire, enqueue; other calls use its scope and owner
    std::vector<core::SetMember> members{};  // of the request; empty: its scope alone
    std::size_t session = 0;
    std::size_t waiter = 0;
    core::Token token;  // release, renew, set_value
    std::optional<core::Scope> scope;
    std::optional<core::Owner> owner;
    std::optional<core::Duration> ttl;
    bool never_shorten = false;
    core::Duration timeout{0};  // wait
    bool keeps_leases = false;  // end_session
};

[[nodiscard]] std::string to_text(const Call& call);

// The result of a call: an outcome, or a number.
struct Reply {
    std::optional<core::Outcome> outcome;
    std::size_t number = 0;
};

[[nodiscard]] inline std::string to_text(const Reply& reply, const Names& names) {
    return reply.outcome ? to_text(*reply.outcome, names) : std::to_string(reply.number);
}

// Makes the call, and appends the ids that the table gave out to `names`.
template <class Table>
Reply make_call(Table& table, Names& names, const Call& call) {
    core::AcquireRequest request = call.request;
    request.members = call.members;
    core::SessionId session{.serial = call.session == 0 ? 0 : UINT64_MAX};
    if (call.session > 0 && call.session <= names.sessions.size()) {
        session = names.sessions[call.session - 1];
    }
    core::WaiterId waiter{.serial = call.waiter == 0 ? 0 : UINT64_MAX};
    if (call.waiter > 0 && call.waiter <= names.waiters.size()) {
        waiter = names.waiters[call.waiter - 1];
    }
    request.session = session;
    const auto with_waiter = [&names](const core::Outcome& outcome) {
        if (outcome.kind == core::Outcome::Kind::queued) names.waiters.push_back(outcome.waiter);
        return Reply{.outcome = outcome};
    };
    switch (call.operation) {
        case Operation::acquire: return with_waiter(table.acquire(call.now, request));
        case Operation::enqueue: return with_waiter(table.enqueue(call.now, request));
        case Operation::wait:
            return {.outcome = table.wait(call.now, session, request.scope, call.timeout)};
        case Operation::renew:
            return {.outcome = table.renew(call.now, {.token = call.token,
                                                      .scope = call.scope,
                                                      .owner = call.owner,
                                                      .ttl = call.ttl,
                                                      .never_shorten = call.never_shorten})};
        case Operation::set_value:
            return {.outcome =
                        table.set_value(call.now, {.token = call.token, .value = request.value})};
        case Operation::release:
            return {.outcome = table.release(
                        call.now, {.token = call.token, .scope = call.scope, .owner = call.owner})};
        case Operation::release_own:
            return {.outcome = table.release_own(call.now, request.scope, request.owner)};
        case Operation::force_release:
            return {.number = table.force_release(call.now, request.scope)};
        case Operation::cancel: return {.number = table.cancel(call.now, waiter) ? 1u : 0u};
        case Operation::open_session:
            session = table.open_session(call.now, request.owner);
            if (!session) return {};
            names.sessions.push_back(session);
            return {.number = names.sessions.size()};
        case Operation::end_session:
            if constexpr (std::is_same_v<Table, core::LockTable>) {
                using Leases = core::LockTable::SessionLeases;
                const auto leases = call.keeps_leases ? Leases::keep : Leases::release;
                return {.number = table.end_session(call.now, session, leases) ? 1u : 0u};
            } else {
                return {.number =
                            table.end_session(call.now, session, call.keeps_leases) ? 1u : 0u};
            }
        case Operation::advance: table.advance(call.now); return {};
    }
    return {};
}

}  // namespace holdfast::model
