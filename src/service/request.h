#pragma once

// What a door asks of the service, and what it gets.
//
// Requests and responses are views like those of core: a request is read during submit() only; a
// response is good until the next call on the port it came from. Texts::keep() makes copies that
// live longer.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "core/lock_table.h"
#include "service/books/fence.h"
#include "service/events/admin_act.h"

namespace holdfast::service {

struct ServiceFigures;

// Two-phase, first half. Being queued is its answer.
struct Enqueue {
    core::AcquireRequest request;
};

// Two-phase, second half. Answered when granted or timed out.
struct Wait {
    core::SessionId session;
    core::Scope scope;
    core::Duration timeout{0};
};

// Ends what this owner has on the scope, without a token. If it is refused, the response shows the
// lock.
struct ReleaseOwn {
    core::Scope scope;
    core::Owner owner;
};

// Ends what anybody has on the scope; if nobody has anything there, on the other one. Ends nothing and
// is refused as `denied` if a lease there is also on something that the client may not end.
struct ForceRelease {
    core::Scope scope;
    std::optional<core::Scope> or_else;
};

// Refused as sessions_max when there are as many as there may be.
struct OpenSession {
    core::Owner owner;
};

struct EndSession {
    core::SessionId session;
    core::LockTable::SessionLeases leases = core::LockTable::SessionLeases::release;
};

// One lock, its queue included; if nothing is known of it, the other one.
struct Inspect {
    core::Scope scope;
    std::optional<core::Scope> or_else;
    std::size_t waiters_max = 0;
    core::HolderPage holders;
};

struct List {
    core::ListQuery query;
};

// The lease of a token.
struct Find {
    core::Token token;
};

// Whether a token is that of a live lease that covers the scope. Answered as Find is; refused as
// scope_mismatch, with the lease, when it does not cover it.
struct CheckToken {
    core::Token token;
    core::Scope scope;
};

// Leases one by one.
struct ListLeases {
    core::LeaseQuery query;
};

struct ListSessions {
    core::SessionQuery query;
};

// The deadlocks that exist now.
struct ListDeadlocks {
    std::size_t limit = 100;
};

// An outside resource is used under this fencing number. REQUIRES: a number above zero.
struct RaiseFence {
    std::string_view resource;
    core::Fence fence{};
};

struct ReadFence {
    std::string_view resource;
};

// Forgets what numbers the resource has seen.
struct DropFence {
    std::string_view resource;
};

// What a step may use. The present is the table's now().
struct StepContext {
    core::LockTable& table;
    const std::function<std::uint64_t()>& random;  // 64 bits, for the secret of a token
    // Why no new lease may be granted now; empty: it may.
    std::string_view why_no_grant;
};

// Several looks and changes as one request: nothing happens between them, and their changes are
// in one commit. For doors whose clients say in one breath what to do with several locks. A step is
// run once, on the thread of the service; its owner looks at what it has found when the request was
// answered. Why: docs/decisions/0031.
class Step {
  public:
    virtual ~Step() = default;

    // Does not wait for a lock: all requests have a wait of zero. Returns what the answer rests on
    // if nothing was changed: an outcome with the one lease that the step has seen; released if the
    // step may have seen anything.
    virtual core::Outcome run(const StepContext& context) = 0;
    // The step is handed to another thread: its views are not good any more after this call.
    virtual void keep_texts() = 0;
};

struct RunStep {
    std::shared_ptr<Step> step;
};

// An act that is done: observers are told of it. Answered at once, also while everything else is refused.
struct TellAct {
    AdminAction action{};
    std::string_view what;  // AdminAct::what
};

// What the service has counted.
struct Measure {};

// An acquire that may wait is answered when it is granted, refused or has timed out. The service
// draws the random bits of tokens itself.
using Request =
    std::variant<core::AcquireRequest, Enqueue, Wait, core::RenewRequest, core::SetValueRequest,
                 core::ReleaseRequest, ReleaseOwn, ForceRelease, OpenSession, EndSession, Inspect,
                 List, Find, CheckToken, ListLeases, ListSessions, ListDeadlocks, RaiseFence,
                 ReadFence, DropFence, RunStep, TellAct, Measure>;

// What few requests are answered with, besides the decision.
struct Details {
    std::vector<core::LockView> locks;              // Inspect, ReleaseOwn (none or one), List
    std::vector<core::LeaseView> leases;            // ListLeases
    std::vector<core::SessionView> sessions;        // ListSessions
    core::Deadlocks deadlocks;                      // ListDeadlocks
    std::optional<FenceOutcome> fence;              // RaiseFence, ReadFence, DropFence
    std::shared_ptr<const ServiceFigures> figures;  // Measure
};

// The answer to any request: the decision, and details if the request asks for them.
struct Response {
    core::Time now;           // when it was decided
    core::Outcome outcome;    // of everything that grants, renews, releases, queues or refuses
    core::SessionId session;  // OpenSession
    std::size_t count = 0;    // ForceRelease, EndSession: how many were ended
    // Set when the request cannot be served: then nothing else here means anything. A sentence for
    // people.
    std::string_view failure;
    bool is_busy = false;  // ... because another program has the store locked: try again
    // ... and the request may have been done or not, as the sentence says; otherwise it was not.
    bool is_unknown = false;
    std::shared_ptr<const Details> details;  // may be null
    // Inspect, List, ListLeases, ListSessions: the number of the last event (EventFeed) that the
    // response shows. What it does not show yet has larger numbers. Zero: nobody numbers the events.
    std::uint64_t position = 0;

    // The details, or that there are none.
    [[nodiscard]] const std::vector<core::LockView>& locks() const { return any_details().locks; }
    [[nodiscard]] const std::vector<core::LeaseView>& leases() const {
        return any_details().leases;
    }
    [[nodiscard]] const std::vector<core::SessionView>& sessions() const {
        return any_details().sessions;
    }
    [[nodiscard]] const core::Deadlocks& deadlocks() const { return any_details().deadlocks; }
    [[nodiscard]] const std::optional<FenceOutcome>& fence() const { return any_details().fence; }
    // REQUIRES: the request was Measure.
    [[nodiscard]] const ServiceFigures& figures() const { return *details->figures; }

    [[nodiscard]] const Details& any_details() const {
        static const Details none;
        return details ? *details : none;
    }
};

}  // namespace holdfast::service
