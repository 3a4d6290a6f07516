#include "sdk/acquisition.h"

#include <algorithm>
#include <utility>

#include "base/text/hex.h"
#include "sdk/lease_calls.h"
#include "sdk/lease_json.h"
#include "values/lease_request.h"

namespace holdfast::sdk {

namespace {

using std::chrono::milliseconds;

// The server answers after this time at the latest. To wait longer, we ask again.
constexpr milliseconds answer_max{600'000};
// A year: to the server, and so to us, a wait of this length has no end.
constexpr milliseconds endless_wait = std::chrono::hours{24 * 365};

// How often, and for how long each time, we try to end an acquisition that was cancelled.
constexpr int abandon_attempts = 3;
constexpr milliseconds abandon_timeout{1'000};

std::string make_request_id() {
    base::RandomBits random;
    std::string id;
    base::append_hex(id, random());
    base::append_hex(id, random());
    return id;
}

// Something between us and the server has ended our wait. The caller has not.
bool is_cancelled(const Answer& answer) {
    return answer.reason() == "Cancelled";
}

}  // namespace

Acquisition::Acquisition(Exchange& exchange, LeaseCalls& calls, const LeaseRequest& request,
                         std::stop_token stop)
    : exchange_(exchange),
      calls_(calls),
      request_(request),
      stop_(std::move(stop)),
      has_own_id_(request.request_id.empty()),
      request_id_(request.request_id),
      patience_(exchange.options().retry_for) {}

LockResult<Lease> Acquisition::run(milliseconds wait) {
    begin_anew();
    is_endless_ = wait >= endless_wait;
    deadline_ = sent_at_ + std::clamp(wait, milliseconds{0}, endless_wait);
    while (!stop_.stop_requested()) {
        asked_wait_ = wait_left();
        const auto answer = exchange_.ask_once(ask(asked_wait_));
        may_hold_ = answer ? false : may_hold_ || answer.error().may_have_effect;
        if (answer) {
            if (!is_cancelled(*answer)) patience_.reset();
            if (auto result = judge(*answer)) return *std::move(result);
        } else if (!answer.error().is_final) {
            if (!patience_.pause(stop_) && !stop_.stop_requested()) return answer.error().error;
        } else if (!answer.error().is_cancelled()) {
            return answer.error().error;
        }
    }
    return cancel();
}

void Acquisition::begin_anew() {
    if (has_own_id_) request_id_ = make_request_id();
    sent_at_ = BootClock::now();
}

Ask Acquisition::ask(milliseconds wait) const {
    return {.method = "POST",
            .target = "/v1/leases",
            .body = to_json({.request = request_, .request_id = request_id_, .wait = wait}),
            .timeout = exchange_.options().timeout + std::min(wait, answer_max),
            .stop = stop_};
}

milliseconds Acquisition::wait_left() const {
    if (is_endless_) return endless_wait;
    const auto left = std::chrono::ceil<milliseconds>(deadline_ - BootClock::now());
    return std::max(left, milliseconds{0});
}

// The result; nothing if the request must be repeated.
std::optional<LockResult<Lease>> Acquisition::judge(const Answer& answer) {
    if (answer.status == 200) return accept(answer);
    const std::string_view reason = answer.reason();
    if (reason == "RequestEnded" && has_own_id_) {  // our lease has ended already
        begin_anew();
        return std::nullopt;
    }
    if (reason == "StillWaiting") {  // repeated in time, the request keeps its place
        may_hold_ = true;
        return std::nullopt;
    }
    if (reason == "WaitTimedOut") {
        LockHeld held = read_held(answer.json);
        const bool is_known = !held.holder.empty() && wait_left() == milliseconds{0};
        // Asked once more without a wait, the server says who has it.
        if (asked_wait_ > milliseconds{0} && !is_known) return std::nullopt;
        return LockError{std::move(held)};
    }
    if (is_cancelled(answer)) {
        if (patience_.pause(stop_) || stop_.stop_requested()) return std::nullopt;
        return LockError{ServerUnavailable{.message = answer.message()}};
    }
    return answer.to_error();
}

// If the answer took long, or the id is not ours, we do not know when the lease began. Then it is
// renewed, because a renewal tells how long it lasts.
std::optional<LockResult<Lease>> Acquisition::accept(const Answer& answer) {
    auto lease = read_lease(answer.json);
    if (!lease) return LockError{ServerUnavailable{.message = "the answer is no lease"}};
    lease->limit = values::members_of(request_).front().limit;
    lease->lasts_until = sent_at_ + lease->ttl;
    if (has_own_id_ && BootClock::now() - sent_at_ < lease->ttl / 3) return *std::move(lease);
    may_hold_ = true;
    auto renewed = calls_.renew(*lease, request_.ttl, stop_);
    if (renewed) return renewed;
    if (std::holds_alternative<LockCancelled>(renewed.error())) return std::nullopt;
    const bool is_over = std::holds_alternative<LockExpired>(renewed.error()) ||
                         std::holds_alternative<LockNotFound>(renewed.error());
    if (!is_over || !has_own_id_) return renewed;
    may_hold_ = false;
    begin_anew();
    return std::nullopt;
}

LockError Acquisition::cancel() {
    if (may_hold_) abandon();
    return LockCancelled{};
}

// The same request without a wait either finds the lease that was granted, or leaves the queue.
void Acquisition::abandon() {
    for (int attempt = 0; attempt < abandon_attempts; ++attempt) {
        Ask last = ask(milliseconds{0});
        last.timeout = abandon_timeout;
        last.stop = {};
        const auto answer = exchange_.ask_once(last);
        if (!answer) continue;
        if (const auto lease = read_lease(answer->json)) calls_.release_briefly(*lease);
        return;
    }
}

}  // namespace holdfast::sdk
