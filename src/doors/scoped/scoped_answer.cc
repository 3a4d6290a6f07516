#include "doors/scoped/scoped_answer.h"

#include <algorithm>
#include <vector>

#include "base/json/json_writer.h"
#include "base/text/rfc3339.h"
#include "core/values/ids.h"
#include "core/values/scope_set.h"
#include "doors/answers/cycle_json.h"
#include "doors/answers/page_text.h"
#include "doors/answers/retry_hint.h"
#include "service/doors.h"
#include "service/events/election.h"

namespace holdfast::doors::scoped {

namespace {

using Kind = core::Outcome::Kind;
using FenceKind = service::FenceOutcome::Kind;

std::string to_text(core::Time time, const service::Clock& clock) {
    std::string text;
    base::append_rfc3339_milliseconds(text, clock.wall(time));
    return text;
}

// Only clients that sent the token see the token. Others see the door of the holder.
enum class LeaseFields : std::uint8_t { with_token, with_door };

// `"scopes":[{"scope":{..},"mode":".."},..]`.
void append_members(base::JsonWriter& json, const std::vector<core::SetMember>& members) {
    if (members.empty()) return;
    json.begin_array("scopes");
    for (const core::SetMember& member : members) {
        json.begin_object();
        append_scope(json, "scope", member.scope);
        json.field("mode", core::to_text(member.mode));
        const bool is_semaphore = member.scope.kind == core::ScopeKind::semaphore;
        if (is_semaphore) json.field("limit", member.limit);
        json.end_object();
    }
    json.end_array();
}

bool is_readable(const core::ScopeFilter* readable, const core::Scope& scope) {
    return readable == nullptr || readable->includes(scope);
}

// What a lease on several scopes is on, as far as the client may read it. `readable` null: all of it.
std::vector<core::SetMember> readable_members(const core::LeaseView& lease,
                                              const core::ScopeFilter* readable) {
    std::vector<core::SetMember> members = answers::members_of(lease.members);
    std::erase_if(members, [readable](const core::SetMember& member) {
        return !is_readable(readable, member.scope);
    });
    return members;
}

// The scope and the mode of a lease on several scopes are those of the first of `members`.
void append_lease(base::JsonWriter& json, const core::LeaseView& lease,
                  const std::vector<core::SetMember>& members, LeaseFields fields,
                  const service::Clock& clock) {
    if (fields == LeaseFields::with_token) {
        std::string token;
        core::append_token(token, lease.token);
        json.field("token", token);
    }
    json.field("fencing_token", core::as_number(lease.token.fence));
    append_scope(json, "scope", members.empty() ? lease.scope : members.front().scope);
    json.field("holder", lease.owner.name)
        .field("mode", core::to_text(members.empty() ? lease.mode : members.front().mode));
    append_members(json, members);
    json.field("acquired_at", to_text(lease.acquired_at, clock));
    if (!lease.is_endless()) {
        const auto ttl = std::chrono::duration_cast<std::chrono::milliseconds>(lease.ttl);
        json.field("expires_at", to_text(lease.expires_at, clock))
            .field("ttl_ms", ttl.count())
            .field("duration_ms", ttl.count());  // as the original calls it
    }
    if (fields == LeaseFields::with_door) json.field("door", service::to_text(lease.owner.door));
    if (!lease.notes.metadata.empty()) json.field("metadata", lease.notes.metadata);
    if (lease.revision > 0) json.field("value", lease.value).field("revision", lease.revision);
}

// An error: its status, code and message.
struct Problem {
    int status;
    std::string_view code;
    std::string_view message;
};

int append_problem(std::string& body, const Problem& problem) {
    base::JsonWriter(body)
        .begin_object()
        .field("error", problem.code)
        .field("message", problem.message)
        .end_object();
    return problem.status;
}

// An error about a scope.
int append_problem(std::string& body, const Problem& problem, const core::Scope& scope) {
    base::JsonWriter json(body);
    json.begin_object().field("error", problem.code).field("message", problem.message);
    append_scope(json, "scope", scope);
    json.end_object();
    return problem.status;
}

Problem problem_of(core::Refusal refusal) {
    switch (refusal) {
        case core::Refusal::key_length_max: return {400, "BadRequest", "the scope is too long"};
        case core::Refusal::name_not_utf8: return {400, "BadRequest", "the scope is not UTF-8"};
        case core::Refusal::owner_length_max: return {400, "BadRequest", "holder is too long"};
        case core::Refusal::request_id_length_max:
            return {400, "BadRequest", "request_id is too long"};
        case core::Refusal::waiter_length_max: return {400, "BadRequest", "waiter is too long"};
        case core::Refusal::sets_max_members:
            return {400, "BadRequest", "scopes has too many elements"};
        case core::Refusal::overlapping_set: return {400, "BadRequest", "scopes must not overlap"};
        case core::Refusal::metadata_length_max: return {400, "BadRequest", "metadata is too long"};
        case core::Refusal::value_length_max:
            return {400, "BadRequest", "value is too long: it has 4096 bytes at most"};
        case core::Refusal::ttl_out_of_range:
            return {400, "BadRequest", "ttl_ms is beyond a limit of this server"};
        case core::Refusal::locks_max:
            return {503, "LimitReached", "there are too many locks on this server"};
        case core::Refusal::leases_max:
            return {503, "LimitReached", "there are too many leases on this server"};
        case core::Refusal::waiters_max:
        case core::Refusal::waiters_per_lock_max:
            return {503, "LimitReached", "too many requests are waiting"};
        case core::Refusal::stopping:
            return {503, "ShuttingDown", "the server is shutting down; ask again later"};
        case core::Refusal::unknown_lease:
            return {404, "LockNotFound", "no lease was ever given this token"};
        case core::Refusal::lease_ended:
            return {410, "LockExpired", "the lease of this token has ended"};
        default: return {500, "Refused", core::to_text(refusal)};
    }
}

Problem problem_of(const service::FenceOutcome& outcome) {
    switch (outcome.kind) {
        case FenceKind::unknown:
            return {404, "FenceNotFound", "no fencing token was ever shown for this resource"};
        case FenceKind::resource_length_max: return {400, "BadRequest", "resource is too long"};
        case FenceKind::resource_not_utf8: return {400, "BadRequest", "resource is not UTF-8"};
        case FenceKind::resources_max:
            return {503, "LimitReached",
                    "too many resources are remembered; DELETE those that are not used any more"};
        case FenceKind::stale:
            return {409, "StaleFence", "a larger fencing token was shown for this resource"};
        case FenceKind::accepted: break;
    }
    return {500, "Refused", "accepted"};
}

struct Writer {
    std::string& body;
    const service::Response& response;
    const service::Clock& clock;

    int operator()(const Acquire& request) const {
        return is_done(Kind::granted) ? lease() : refuse(request);
    }
    int operator()(const Renew&) const { return is_done(Kind::renewed) ? lease() : refuse(); }
    int operator()(const SetValue&) const { return is_done(Kind::renewed) ? lease() : refuse(); }
    int operator()(const Look&) const { return is_done(Kind::found) ? lease() : refuse(); }

    int operator()(const Release&) const {
        if (!is_done(Kind::released)) return refuse();
        base::JsonWriter(body).begin_object().field("released", true).end_object();
        return 200;
    }

    int operator()(const ListLeases& request) const {
        const std::vector<core::LeaseView>& leases = response.leases();
        const std::size_t shown_max = std::min(leases.size(), request.limit);
        const answers::PageText page(body);
        std::size_t shown = 0;
        base::JsonWriter json(body);
        json.begin_object().begin_array("leases");
        for (; shown < shown_max && !page.is_full(); ++shown) {
            json.begin_object();
            const core::LeaseView& lease = leases[shown];
            append_lease(json, lease, answers::members_of(lease.members), LeaseFields::with_door,
                         clock);
            json.end_object();
        }
        json.end_array();
        if (shown < leases.size()) {
            const std::uint64_t last = core::as_number(leases[shown - 1].token.fence);
            json.field("next", std::to_string(last));
        }
        if (response.position > 0) json.field("position", response.position);
        json.end_object();
        return 200;
    }

    int operator()(const LookAtElection& request) const {
        service::Election election(request.name);
        election.begin(response);
        election.append_json(body, clock);
        return 200;
    }

    // The client has named one scope and shown a token. It may not be allowed to read what else the
    // lease is on.
    int operator()(const CheckToken& request) const {
        const core::LeaseView& held = response.outcome.lease;
        const core::ScopeFilter* const readable = request.readable.get();
        const std::vector<core::SetMember> members = readable_members(held, readable);
        if (is_done(Kind::found)) {
            core::LeaseView shown = held;
            if (!is_readable(readable, held.scope)) shown.scope = request.scope.view();
            return lease(shown, members);
        }
        if (response.outcome.refusal != core::Refusal::scope_mismatch) return refuse();
        const bool is_anything_shown = !members.empty() || is_readable(readable, held.scope);
        if (!is_anything_shown) {
            return append_problem(body,
                                  {409, "LockScopeMismatch", "the lease is on something else"});
        }
        const core::Scope& first = members.empty() ? held.scope : members.front().scope;
        std::string message = "the lease is on " + core::to_text(first);
        for (std::size_t index = 1; index < members.size(); ++index) {
            message += ", " + core::to_text(members[index].scope);
        }
        base::JsonWriter json(body);
        json.begin_object().field("error", "LockScopeMismatch").field("message", message);
        append_scope(json, "scope", first);
        append_members(json, members);
        json.end_object();
        return 409;
    }

    int operator()(const ListDeadlocks& request) const {
        base::JsonWriter json(body);
        json.begin_object().begin_array("deadlocks");
        for (const core::Cycle& deadlock : response.deadlocks().cycles) {
            const answers::ShownCycle cycle(deadlock.text, request.readable.get());
            if (!cycle.is_anything_shown()) continue;
            json.begin_object().field("since", to_text(deadlock.since, clock));
            cycle.append(json);
            json.end_object();
        }
        json.end_array();
        if (response.deadlocks().is_cut) json.field("truncated", true);
        if (response.position > 0) json.field("position", response.position);
        json.end_object();
        return 200;
    }

    int operator()(const RaiseFence& request) const {
        const FenceKind kind = response.fence()->kind;
        if (kind != FenceKind::accepted && kind != FenceKind::stale) return refuse_fence();
        base::JsonWriter json(body);
        json.begin_object();
        if (kind == FenceKind::stale) {
            const Problem problem = problem_of(*response.fence());
            json.field("error", problem.code).field("message", problem.message);
        }
        answers::append_name(json, "resource", request.resource);
        json.field("fencing_token", core::as_number(request.fence))
            .field("highest", response.fence()->highest);
        json.end_object();
        return kind == FenceKind::stale ? 409 : 200;
    }

    int operator()(const ReadFence& request) const {
        if (response.fence()->kind != FenceKind::accepted) return refuse_fence();
        base::JsonWriter json(body);
        json.begin_object();
        answers::append_name(json, "resource", request.resource);
        json.field("highest", response.fence()->highest).end_object();
        return 200;
    }

    int operator()(const DropFence& request) const {
        if (response.fence()->kind != FenceKind::accepted) return refuse_fence();
        base::JsonWriter json(body);
        json.begin_object().field("dropped", true);
        answers::append_name(json, "resource", request.resource);
        json.field("highest", response.fence()->highest).end_object();
        return 200;
    }

  private:
    [[nodiscard]] bool is_done(Kind kind) const { return response.outcome.kind == kind; }

    [[nodiscard]] int lease() const {
        const core::LeaseView& granted = response.outcome.lease;
        return lease(granted, answers::members_of(granted.members));
    }
    [[nodiscard]] int lease(const core::LeaseView& shown,
                            const std::vector<core::SetMember>& members) const {
        base::JsonWriter json(body);
        json.begin_object();
        append_lease(json, shown, members, LeaseFields::with_token, clock);
        json.end_object();
        return 200;
    }
    [[nodiscard]] int refuse() const {
        return append_problem(body, problem_of(response.outcome.refusal));
    }
    [[nodiscard]] int refuse_fence() const {
        return append_problem(body, problem_of(*response.fence()));
    }

    // The scope that is refused: of several, the one that is the reason.
    [[nodiscard]] core::Scope refused_scope(const Acquire& request) const {
        const std::size_t index = response.outcome.member;
        return index < request.members.size() ? request.members[index].scope.view()
                                              : request.scope.view();
    }

    [[nodiscard]] int refuse(const Acquire& request) const {
        const core::Scope scope = refused_scope(request);
        switch (response.outcome.refusal) {
            case core::Refusal::held:
            case core::Refusal::in_grace: append_blocker("LockHeld", "", request); return 409;
            case core::Refusal::timed_out: return timed_out(request);
            case core::Refusal::deadlock: return deadlock(request);
            case core::Refusal::still_waiting: return still_waiting(scope);
            case core::Refusal::limit_mismatch:
                return append_problem(
                    body, {409, "LimitMismatch", "the semaphore has another limit"}, scope);
            case core::Refusal::other_kind:
                return append_problem(
                    body,
                    {409, "KindMismatch",
                     scope.kind == core::ScopeKind::semaphore
                         ? "the name is a lock at the moment, so it cannot be a semaphore"
                         : "the name is a semaphore at the moment: ask for semaphore:NAME and its "
                           "limit"},
                    scope);
            case core::Refusal::request_mismatch:
                return append_problem(body,
                                      {409, "RequestMismatch",
                                       "this request_id was used for another mode or limit: use a "
                                       "new one"},
                                      scope);
            case core::Refusal::request_ended:
                return append_problem(
                    body, {409, "RequestEnded", "what this request_id was granted is over"}, scope);
            case core::Refusal::request_superseded:
                return append_problem(
                    body, {409, "RequestSuperseded", "a later request of this request_id waits"},
                    scope);
            case core::Refusal::denied:
                return append_problem(body, {403, "Forbidden", rights::right_lost},
                                      response.outcome.lease.scope);
            default: return refuse();
        }
    }

    [[nodiscard]] int deadlock(const Acquire& request) const {
        const std::string_view text = response.outcome.cycle;
        const answers::ShownCycle cycle(text, request.readable.get());
        base::JsonWriter json(body);
        json.begin_object().field("error", "Deadlock").field("message", cycle.sentence());
        // The client that asked is the first of the cycle.
        const auto members = core::parse_cycle(text).value_or(std::vector<core::CycleMember>());
        append_scope(json, "scope",
                     members.empty() ? request.scope.view() : members.front().waits_for);
        cycle.append(json);
        json.end_object();
        return 409;
    }

    [[nodiscard]] int still_waiting(const core::Scope& scope) const {
        base::JsonWriter json(body);
        json.begin_object()
            .field("error", "StillWaiting")
            .field("message", "ask again with the same request_id: the place in the queue is kept");
        append_scope(json, "scope", scope);
        json.field("place_kept_ms", answers::place_kept_ms).end_object();
        return 409;
    }

    [[nodiscard]] int timed_out(const Acquire& request) const {
        constexpr std::string_view message = "it was not granted within wait_ms";
        const core::Outcome& outcome = response.outcome;
        const bool is_anything_told =
            outcome.is_behind_waiter || core::as_number(outcome.lease.token.fence) > 0;
        if (!is_anything_told) {  // it is free by now, or about to be given to another client
            return append_problem(body, {409, "WaitTimedOut", message}, refused_scope(request));
        }
        append_blocker("WaitTimedOut", message, request);
        return 409;
    }

    // An error about the lease in the way. That may be on more bytes of an inode than the client may
    // read: then the answer names what was asked for.
    // NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
    void append_blocker(std::string_view code, std::string_view what,
                        const Acquire& request) const {
        const core::LeaseView& lease = response.outcome.lease;
        const bool is_shown = is_readable(request.readable.get(), lease.scope);
        const core::Scope scope = is_shown ? lease.scope : refused_scope(request);
        std::string message = what.empty() ? "" : std::string(what) + ": ";
        message += core::to_text(scope);
        const bool is_in_grace = response.outcome.refusal == core::Refusal::in_grace ||
                                 lease.state == core::LeaseState::grace;
        if (response.outcome.is_behind_waiter) {
            message += " is not held, but earlier asked for by ";
        } else {
            message += is_in_grace ? " is kept for its last holder, " : " is held by ";
        }
        message += lease.owner.name;
        base::JsonWriter json(body);
        json.begin_object().field("error", code).field("message", message);
        append_scope(json, "scope", scope);
        json.field("holder", lease.owner.name).field("mode", core::to_text(lease.mode));
        if (!lease.is_endless()) json.field("expires_at", to_text(lease.grace_until, clock));
        json.field("queue_length", response.outcome.queue_length)
            .field("retry_after_ms", answers::recommend_retry_ms(response));
        json.end_object();
    }
};

}  // namespace

int append_answer(std::string& body, const ScopedRequest& request,
                  const service::Response& response, const service::Clock& clock) {
    int status = 503;
    if (!response.failure.empty()) {
        const std::string_view code = response.is_busy ? "StoreBusy" : "StoreFailed";
        append_problem(body, {status, code, response.failure});
    } else {
        status = std::visit(Writer{body, response, clock}, request);
    }
    body += '\n';
    return status;
}

int append_cancelled(std::string& body, const Acquire& request) {
    const int status =
        append_problem(body, {409, "Cancelled", "the client stopped sending while it waited"},
                       request.scope.view());
    body += '\n';
    return status;
}

void append_fault(std::string& body, const Fault& fault) {
    append_problem(body, {fault.status, fault.code, fault.message});
    body += '\n';
}

int append_denial(std::string& body, const rights::Denial& denial) {
    append_fault(body, {.status = 403, .code = "Forbidden", .message = denial.sentence});
    rights::add_to_json(body, denial);
    return 403;
}

}  // namespace holdfast::doors::scoped
