#include "doors/terraform/state_locks.h"

#include "service/doors.h"
#include "service/ports/port.h"

namespace holdfast::doors::terraform {

namespace {

core::Owner owner_of(std::string_view id) {
    return {.door = service::terraform_door, .name = id};
}

service::Inspect look_at(const std::string& name) {
    return {.scope = core::Scope::named(name), .holders = {.limit = 1}};
}

// Null: nobody holds the lock.
const core::LeaseView* holder_in(const service::Response& response) {
    if (response.locks().empty() || response.locks().front().holders.empty()) return nullptr;
    return &response.locks().front().holders.front();
}

Objection deny(const StateLocks::Request& request, rights::Right right) {
    const rights::Need need{right, rights::Door::http, core::Scope::named(request.name)};
    const auto denial = rights::deny(request.client.get(), need);
    return denial ? Objection(refuse(*denial, denial->sentence)) : Objection();
}

}  // namespace

StateLocks::StateLocks(const Parts& parts)
    : parts_(parts),
      questions_(parts.executor, refuse(503, "the server is shutting down; nothing was changed")) {}

Objection StateLocks::lock(const Request& request, const LockInfo& info) {
    return questions_.ask([this, request, info](const QuestionPtr& question) {
        const core::AcquireRequest acquire{.scope = core::Scope::named(request.name),
                                           .owner = owner_of(info.id),
                                           .ttl = parts_.ttl,
                                           .renew_own = true,
                                           .is_only_kind = true,
                                           .notes = {.request_id = {}, .metadata = info.json}};
        service::ask(
            parts_.port, acquire,
            [this, question](const service::Response& response) {
                question->finish(judge_lock(response));
            },
            request.by,
            rights::allowed_to(request.client.get(), rights::Right::lock, rights::Door::http));
    });
}

// A conflict must show the JSON of a lock, or Terraform does not try again.
Objection StateLocks::judge_lock(const service::Response& response) const {
    using Kind = core::Outcome::Kind;
    if (!response.failure.empty()) return refuse_failed(response);
    const core::Outcome& outcome = response.outcome;
    if (outcome.kind == Kind::granted || outcome.kind == Kind::renewed) return {};
    switch (outcome.refusal) {
        case core::Refusal::held:
        case core::Refusal::in_grace:
        case core::Refusal::other_kind:
            return StateAnswer{.status = 423,
                               .body = describe_holder(outcome.lease, parts_.clock) + "\n"};
        case core::Refusal::metadata_length_max:
            return refuse(413, "the JSON of the lock is longer than 1024 bytes");
        case core::Refusal::owner_length_max:
            return refuse(413, "the ID of the lock is longer than 1024 bytes");
        case core::Refusal::denied: return refuse(403, rights::right_lost);
        default:
            return refuse(
                503, "no lock can be granted now: " + std::string(core::to_text(outcome.refusal)));
    }
}

Objection StateLocks::unlock(const Request& request) {
    return questions_.ask([this, request](const QuestionPtr& question) {
        service::ask(
            parts_.port, look_at(request.name),
            [this, request, question](const service::Response& response) {
                const std::string& id = request.id;
                const rights::Right right = id.empty() ? rights::Right::admin : rights::Right::lock;
                if (auto denied = deny(request, right)) return question->finish(std::move(denied));
                if (!response.failure.empty()) return question->finish(refuse_failed(response));
                const core::LeaseView* const holder = holder_in(response);
                if (holder == nullptr) return question->finish({});
                const bool is_ours = holder->owner.door == service::terraform_door;
                if (is_ours && (id.empty() || holder->owner.name == id)) {
                    return release(question, *holder, request);
                }
                const std::string_view why =
                    is_ours ? "the lock has another ID"
                            : "the lock was taken at another door: only its holder, or `holdfast "
                              "force-unlock`, can end it";
                question->finish(refuse_locked(409, why, describe_holder(*holder, parts_.clock)));
            });
    });
}

// A lock that has ended meanwhile is as good as one that is released now.
void StateLocks::release(const QuestionPtr& question, const core::LeaseView& lease,
                         const Request& request) {
    const core::Cause cause = request.id.empty() ? core::Cause::force : core::Cause::request;
    service::ask(
        parts_.port, core::ReleaseRequest{.token = lease.token, .cause = cause},
        [this, question, request](const service::Response& response) {
            Objection objection;
            if (!response.failure.empty()) objection = refuse_failed(response);
            const bool is_forced =
                request.id.empty() && response.outcome.kind == core::Outcome::Kind::released;
            if (!objection && is_forced) {
                const std::string what = core::to_text(core::Scope::named(request.name));
                service::tell(parts_.port, {service::AdminAction::force_release, what}, request.by);
            }
            question->finish(std::move(objection));
        },
        request.by);
}

void StateLocks::tell_rolled_back(const std::string& what, const std::string& by) {
    const Objection ignored = questions_.ask([this, what, by](const QuestionPtr& question) {
        service::tell(parts_.port, {service::AdminAction::roll_back, what}, by);
        question->finish({});
    });
    static_cast<void>(ignored);  // the server ends
}

Objection StateLocks::check(const Request& request) {
    return questions_.ask([this, request](const QuestionPtr& question) {
        service::ask(
            parts_.port, look_at(request.name),
            [this, request, question](const service::Response& response) {
                auto denied = deny(request, rights::Right::lock);
                question->finish(denied ? std::move(denied) : judge_write(response, request.id));
            });
    });
}

Objection StateLocks::judge_write(const service::Response& response, const std::string& id) const {
    if (!response.failure.empty()) return refuse_failed(response);
    const core::LeaseView* const holder = holder_in(response);
    if (holder == nullptr) {
        if (id.empty()) return {};
        return refuse(423, "the lock with this ID has ended; the state was not changed");
    }
    const bool is_held = holder->state == core::LeaseState::held;
    if (is_held && !id.empty() && holder->owner == owner_of(id)) return {};
    return refuse_locked(423,
                         id.empty() ? "the state is locked, and the request shows no lock ID"
                                    : "the state is locked with another ID",
                         describe_holder(*holder, parts_.clock));
}

}  // namespace holdfast::doors::terraform
