#include "doors/lockserver/lockserver_answer.h"

#include "base/json/json_writer.h"
#include "doors/answers/retry_hint.h"
#include "doors/lockserver/lock_json.h"
#include "rights/denial.h"

namespace holdfast::doors::lockserver {

namespace {

using Kind = core::Outcome::Kind;

int refuse_by_limit(std::string& body, core::Refusal refusal) {
    switch (refusal) {
        case core::Refusal::key_length_max: append_error(body, "lock_name is too long"); return 400;
        case core::Refusal::name_not_utf8: append_error(body, "lock_name is not UTF-8"); return 400;
        case core::Refusal::owner_length_max:
            append_error(body, "owner_id is too long");
            return 400;
        case core::Refusal::request_id_length_max:
            append_error(body, "request_id is too long");
            return 400;
        case core::Refusal::metadata_length_max:
            append_error(body, "metadata is too long");
            return 400;
        case core::Refusal::locks_max:
            append_error(body, "too many locks on this server");
            return 503;
        case core::Refusal::leases_max:
            append_error(body, "too many leases on this server");
            return 503;
        case core::Refusal::waiters_max:
        case core::Refusal::waiters_per_lock_max:
            append_error(body, "too many requests are waiting");
            return 503;
        default: append_error(body, core::to_text(refusal)); return 500;
    }
}

int append_not_acquired(std::string& body, const Acquire& request, std::string_view reason,
                        std::int64_t retry_ms = 0, std::int64_t place_kept_ms = 0) {
    base::JsonWriter json(body);
    json.begin_object().field("acquired", false).field("lock_name", request.lock_name);
    if (retry_ms > 0) json.field("recommended_retry_ms", retry_ms);
    json.field("reason", reason);
    if (place_kept_ms > 0) json.field("place_kept_ms", place_kept_ms);
    json.end_object();
    return 409;
}

// The answer when the store has failed; `append_busy` writes it when trying again may help, and the
// request was certainly not done.
template <class AppendBusy>
int append_failure(std::string& body, const service::Response& response, AppendBusy append_busy) {
    if (response.is_busy && !response.is_unknown) return append_busy();
    append_error(body, response.failure);
    return 503;
}

struct Writer {
    std::string& body;
    const service::Response& response;
    const service::Clock& clock;

    int operator()(const Acquire& request) const {
        if (!response.failure.empty()) {
            return append_failure(body, response, [&] {
                return append_not_acquired(body, request, "BUSY_RETRY", answers::busy_retry_ms);
            });
        }
        const core::Outcome& outcome = response.outcome;
        if (outcome.kind == Kind::granted) {
            base::JsonWriter json(body);
            json.begin_object().field("acquired", true).field("lock_name", request.lock_name);
            append_lease(json, outcome.lease, LeaseIds::shown, clock);
            json.end_object();
            return 200;
        }
        return refuse(request);
    }

    int operator()(const Renew&) const {
        if (!response.failure.empty()) {
            return append_failure(body, response, [&] { return not_renewed("BUSY_RETRY"); });
        }
        if (response.outcome.kind != Kind::renewed) return not_renewed("NOT_OWNER_OR_EXPIRED");
        base::JsonWriter json(body);
        json.begin_object().field("renewed", true);
        append_end(json, "lease_expiry_ms", response.outcome.lease.expires_at, clock);
        json.end_object();
        return 200;
    }

    int operator()(const Release&) const {
        if (!response.failure.empty()) {
            return append_failure(body, response, [&] { return not_released("BUSY_RETRY"); });
        }
        if (response.outcome.kind != Kind::released) return not_released("NOT_OWNER");
        base::JsonWriter json(body);
        json.begin_object().field("released", true);
        json.end_object();
        return 200;
    }

    int operator()(const Get& request) const {
        if (!response.failure.empty()) return fail();
        append_lock(body, request, response.locks().empty() ? nullptr : &response.locks()[0],
                    response.position, clock);
        return 200;
    }

    int operator()(const ListLocks& request) const {
        if (!response.failure.empty()) return fail();
        append_page(body, request, response.locks(), response.position, clock);
        return 200;
    }

    int operator()(const ForceRelease&) const {
        if (!response.failure.empty()) return fail();
        base::JsonWriter json(body);
        json.begin_object().field("released", response.count > 0);
        if (response.count == 0) json.field("reason", "NOT_HELD");
        json.field("holders", static_cast<std::int64_t>(response.count));
        json.end_object();
        return 200;
    }

    int operator()(const WatchEvents&) const { return fail(); }

  private:
    [[nodiscard]] int fail() const {
        append_error(body, response.failure);
        return 503;
    }

    [[nodiscard]] int not_renewed(const char* reason) const {
        return not_done("renewed", reason, 409);
    }
    [[nodiscard]] int not_released(const char* reason) const {
        return not_done("released", reason, 200);
    }

    int not_done(const char* what, const char* reason, int status) const {
        base::JsonWriter json(body);
        json.begin_object().field(what, false).field("reason", reason);
        if (response.is_busy) json.field("recommended_retry_ms", answers::busy_retry_ms);
        json.end_object();
        return status;
    }

    [[nodiscard]] int refuse(const Acquire& request) const {
        switch (response.outcome.refusal) {
            case core::Refusal::held:
            case core::Refusal::in_grace: break;
            case core::Refusal::timed_out:
                return append_not_acquired(body, request, "WAIT_TIMED_OUT", answers::retry_min_ms);
            case core::Refusal::still_waiting:
                return append_not_acquired(body, request, "STILL_WAITING", answers::retry_min_ms,
                                           answers::place_kept_ms);
            case core::Refusal::stopping:
                return append_not_acquired(body, request, "BUSY_RETRY", answers::busy_retry_ms);
            case core::Refusal::limit_mismatch:
                return append_not_acquired(body, request, "LIMIT_MISMATCH");
            case core::Refusal::other_kind:
                return append_not_acquired(body, request, "KIND_MISMATCH");
            case core::Refusal::request_mismatch:
                return append_not_acquired(body, request, "REQUEST_MISMATCH");
            case core::Refusal::request_ended:
                return append_not_acquired(body, request, "REQUEST_ENDED");
            case core::Refusal::request_superseded:
                return append_not_acquired(body, request, "REQUEST_SUPERSEDED");
            case core::Refusal::denied: append_error(body, rights::right_lost); return 403;
            default: return refuse_by_limit(body, response.outcome.refusal);
        }
        const core::LeaseView& lease = response.outcome.lease;
        base::JsonWriter json(body);
        json.begin_object()
            .field("acquired", false)
            .field("lock_name", request.lock_name)
            .field("current_owner_id", lease.owner.name);
        append_end(json, "current_expiry_ms", lease.grace_until, clock);
        json.field("recommended_retry_ms", answers::recommend_retry_ms(response))
            .field("reason", "HELD");
        json.end_object();
        return 409;
    }
};

}  // namespace

int append_answer(std::string& body, const LockserverRequest& request,
                  const service::Response& response, const service::Clock& clock) {
    const int status = std::visit(Writer{body, response, clock}, request);
    body += '\n';
    return status;
}

int append_cancelled(std::string& body, const Acquire& request) {
    const int status = append_not_acquired(body, request, "CANCELLED");
    body += '\n';
    return status;
}

void append_error(std::string& body, std::string_view error) {
    base::JsonWriter json(body);
    json.begin_object().field("error", error);
    json.end_object();
}

}  // namespace holdfast::doors::lockserver
