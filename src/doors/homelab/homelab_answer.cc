#include "doors/homelab/homelab_answer.h"

#include <optional>

#include "base/json/json.h"
#include "base/text/append_all.h"
#include "base/text/rfc3339.h"
#include "rights/denial.h"

namespace holdfast::doors::homelab {

namespace {

using Kind = core::Outcome::Kind;
using base::JsonText;

// The fields of an answer, in the order of the original. An answer without a message shows its
// error as the message.
struct Answer {
    int status = 200;
    std::string_view holder;
    std::string_view message;          // fixed text, which needs no escapes
    std::string_view previous_holder;  // named at the end of the message
    std::string_view error;
    std::optional<core::Time> expires_at;
    std::optional<bool> is_expired;
    std::optional<core::Time> grace_until;
};

// `name` is with all its signs: `,"expires_at":"`.
void append_time(std::string& body, std::string_view name, core::Time time,
                 const service::Clock& clock) {
    const auto second = std::chrono::floor<std::chrono::seconds>(clock.wall(time));
    base::append_all(body, name, base::Rfc3339Text(second).view(), "\"");
}

void append(std::string& body, const Answer& answer, std::string_view job,
            const service::Clock& clock) {
    const std::string_view success = answer.status == 200 ? "true" : "false";
    const JsonText error(answer.error);
    base::append_all(body, R"({"success":)", success, R"(,"job":")", JsonText(job).view(),
                     R"(","holder":")", JsonText(answer.holder).view(), R"(","message":")",
                     answer.message.empty() ? error.view() : answer.message,
                     JsonText(answer.previous_holder).view(), "\"");
    if (!answer.error.empty()) base::append_all(body, R"(,"error":")", error.view(), "\"");
    if (answer.expires_at) append_time(body, R"(,"expires_at":")", *answer.expires_at, clock);
    if (answer.is_expired) {
        body.append(*answer.is_expired ? R"(,"is_expired":true)" : R"(,"is_expired":false)");
    }
    if (answer.grace_until) append_time(body, R"(,"grace_until":")", *answer.grace_until, clock);
    body.append("}\n");
}

// When the lease ends. A lease without an end, which other doors grant, is shown without one.
std::optional<core::Time> end_of(const core::LeaseView& lease) {
    return lease.is_endless() ? std::nullopt : std::optional(lease.expires_at);
}

// The server refuses because of a limit or an invalid value.
Answer refused_by_limit(core::Refusal refusal) {
    switch (refusal) {
        case core::Refusal::ttl_out_of_range: return {.status = 400, .error = "ttl out of range"};
        case core::Refusal::key_length_max: return {.status = 400, .error = "job is too long"};
        case core::Refusal::name_not_utf8: return {.status = 400, .error = "job is not UTF-8"};
        case core::Refusal::owner_length_max: return {.status = 400, .error = "client is too long"};
        case core::Refusal::locks_max:
            return {.status = 503, .error = "too many locks on this server"};
        case core::Refusal::leases_max:
            return {.status = 503, .error = "too many leases on this server"};
        case core::Refusal::other_kind:
            return {.status = 409, .error = "this name is a semaphore at the moment"};
        case core::Refusal::stopping:
            return {.status = 503, .error = "the server is shutting down; ask again later"};
        case core::Refusal::denied: return {.status = 403, .error = rights::right_lost};
        default: return {.status = 500, .error = core::to_text(refusal)};
    }
}

Answer acquired(const HomelabRequest& request, const core::Outcome& outcome) {
    const core::LeaseView& lease = outcome.lease;
    if (outcome.kind == Kind::refused) {
        if (outcome.refusal == core::Refusal::in_grace) {
            return {.status = 409,
                    .holder = lease.owner.name,
                    .error = "grace period active",
                    .expires_at = end_of(lease),
                    .grace_until = lease.grace_until};
        }
        if (outcome.refusal != core::Refusal::held) return refused_by_limit(outcome.refusal);
        return {.status = 409,
                .holder = lease.owner.name,
                .message = outcome.is_behind_waiter ? "another client waits for it already"
                                                    : "held by another client",
                .expires_at = end_of(lease)};
    }
    Answer answer{.holder = lease.owner.name, .message = "acquired", .expires_at = end_of(lease)};
    const bool is_back = outcome.previous_owner == request.client;
    if (outcome.kind == Kind::renewed || is_back) {
        answer.message = "renewed";
    } else if (!outcome.previous_owner.empty()) {
        answer.message = "acquired from ";
        answer.previous_holder = outcome.previous_owner;
    }
    return answer;
}

// The lease on the lock in the response: of its holder, or else of its last holder, because the
// original shows that until the next grant. Null if there is neither.
const core::LeaseView* find_lease(const service::Response& response) {
    if (response.locks().empty()) return nullptr;
    const core::LockView& lock = response.locks().front();
    if (!lock.holders.empty()) return &lock.holders.front();
    return lock.lapsed ? &*lock.lapsed : nullptr;
}

Answer released(const service::Response& response) {
    if (response.outcome.kind == Kind::released) return {.message = "lock released"};
    const core::LeaseView* const lease = find_lease(response);
    return {.status = 403,
            .holder = lease == nullptr ? std::string_view() : lease->owner.name,
            .error = "client does not hold the lock"};
}

Answer status(const service::Response& response) {
    const core::LeaseView* const lease = find_lease(response);
    if (lease == nullptr) return {.message = "no lock held", .is_expired = true};
    return {.holder = lease->owner.name,
            .message = "lock held",
            .expires_at = end_of(*lease),
            .is_expired = lease->state != core::LeaseState::held,
            .grace_until = lease->is_endless() ? std::nullopt : std::optional(lease->grace_until)};
}

Answer answer_to(const HomelabRequest& request, const service::Response& response) {
    if (!response.failure.empty()) return {.status = 503, .error = response.failure};
    switch (request.action) {
        case Action::acquire: return acquired(request, response.outcome);
        case Action::release: return released(response);
        case Action::status: break;
    }
    return status(response);
}

}  // namespace

int append_answer(std::string& body, const HomelabRequest& request,
                  const service::Response& response, const service::Clock& clock) {
    const Answer answer = answer_to(request, response);
    append(body, answer, request.job, clock);
    return answer.status;
}

void append_fault(std::string& body, const HomelabFault& fault) {
    const JsonText error(fault.error);
    base::append_all(body, R"({"success":false,"job":")", JsonText(fault.job).view(),
                     R"(","holder":"","message":")", error.view(), R"(","error":")", error.view(),
                     "\"}\n");
}

}  // namespace holdfast::doors::homelab
