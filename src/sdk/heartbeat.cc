#include "sdk/heartbeat.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace holdfast::sdk {

namespace {

using renewal::to_time;
using std::chrono::milliseconds;

constexpr std::size_t workers_max = 4;

// The clock goes on while the machine is asleep, and timers do not: so the watcher looks often.
constexpr milliseconds watch_interval_max{1'000};

// When the system has no thread for a worker.
constexpr milliseconds thread_retry_interval{10};

renewal::Pace pace_of(const HeartbeatOptions& options, milliseconds ttl) {
    const Lease extended{.scope = LockScope::Named{}, .ttl = options.extend_by.value_or(ttl)};
    return {.every = options.every.value_or(extended.ttl / 3),
            .margin = options.margin.value_or(extended.margin())};
}

bool is_over(const LockError& error) {
    return std::holds_alternative<LockExpired>(error) ||
           std::holds_alternative<LockNotFound>(error);
}

std::shared_ptr<Hold> own(const renewal::HoldPointer& hold) {
    return std::static_pointer_cast<Hold>(hold);
}

}  // namespace

Hold::Hold(const Lease& its_lease, renewal::Pace its_pace)
    : renewal::Hold(its_pace, to_time(its_lease.lasts_until)), lease(its_lease) {
    renew_at = to_time(lease.lasts_until) - lease.ttl + pace.every;
}

Heartbeat::Heartbeat(Renew renew, const Now& now)
    : renew_(std::move(renew)),
      watcher_([now] { return to_time(now()); }, watch_interval_max,
               {.renew = [this](const renewal::HoldPointer& hold,
                                renewal::Time) { hand_to_worker(own(hold)); },
                .on_end =
                    [](renewal::Hold& hold) { static_cast<Hold&>(hold).renewal.request_stop(); }}) {
}

Heartbeat::~Heartbeat() {
    {
        const Guard guard = watcher_.guard();
        is_stopping_ = true;
        for (const auto& hold : renewing_) hold->renewal.request_stop();
    }
    due_came_.notify_all();
    watcher_.stop();
    for (auto& worker : workers_) worker.join();
}

std::optional<LockError> Heartbeat::find_fault(const HeartbeatOptions& options, milliseconds ttl) {
    return pace_of(options, ttl).find_fault(std::min(ttl, options.extend_by.value_or(ttl)));
}

LockResult<std::shared_ptr<Hold>> Heartbeat::keep(const Lease& lease, HeartbeatOptions options) {
    const auto hold = std::make_shared<Hold>(lease, pace_of(options, lease.ttl));
    hold->extend_by = options.extend_by.value_or(lease.ttl);
    if (options.on_lost) {
        // The hold lives until its callback has returned.
        hold->on_lost = [hold = hold.get(),
                         on_lost = std::move(options.on_lost)](const LockError& loss) {
            on_lost({.lease = hold->lease, .error = loss});
        };
    }
    const Guard guard = watcher_.guard();
    if (auto fault = watcher_.find_fault(*hold, to_time(lease.lasts_until))) {
        return *std::move(fault);
    }
    try {
        if (!watcher_.is_started()) watcher_.start();
    } catch (const std::system_error& error) {
        return LockError{LockLimitReached{std::string("no thread: ") + error.what()}};
    }
    watcher_.add(hold);
    return hold;
}

Lease Heartbeat::lease_of(const Hold& hold) const {
    const Guard guard = watcher_.guard();
    return hold.lease;
}

void Heartbeat::wait_for_renewals() {
    Guard guard = watcher_.guard();
    renewed_.wait(guard, [&] { return due_.empty() && renewing_.empty(); });
}

void Heartbeat::hand_to_worker(const std::shared_ptr<Hold>& hold) {
    const bool is_worker_free = idle_ > due_.size();
    if (!is_worker_free && workers_.size() < workers_max) {
        try {
            workers_.emplace_back([this] { work(); });
        } catch (const std::system_error&) {
            if (workers_.empty()) {
                hold->is_renewing = false;
                hold->renew_at = watcher_.now() + thread_retry_interval;
                return;
            }
        }
    }
    due_.push_back(hold);
    due_came_.notify_one();
}

void Heartbeat::work() {
    Guard guard = watcher_.guard();
    while (!is_stopping_) {
        if (due_.empty()) {
            ++idle_;
            due_came_.wait(guard);
            --idle_;
            continue;
        }
        const std::shared_ptr<Hold> hold = std::move(due_.front());
        due_.pop_front();
        if (hold->state == Hold::State::held) renew(hold, guard);
        renewed_.notify_all();
    }
}

// Waits for the server without the mutex.
void Heartbeat::renew(const std::shared_ptr<Hold>& hold, Guard& guard) {
    const renewal::Time now = watcher_.now();
    // The request may make the lease shorter, also if its answer is lost.
    watcher_.shorten(hold, now + hold->extend_by - hold->pace.margin);
    hold->renewal = std::stop_source();
    const Lease lease = hold->lease;
    const Renewal renewal{.ttl = hold->extend_by,
                          .timeout = std::chrono::ceil<milliseconds>(hold->guaranteed_until - now),
                          .stop = hold->renewal.get_token()};
    renewing_.push_back(hold);
    guard.unlock();
    const Answered<Lease> result = renew_(lease, renewal);
    guard.lock();
    std::erase(renewing_, hold);
    on_renewed(hold, result);
}

void Heartbeat::on_renewed(const std::shared_ptr<Hold>& hold, const Answered<Lease>& result) {
    const bool has_failed = !result && !result.error().is_cancelled();
    if (!watcher_.end_renewal(hold, has_failed ? to_text(result.error().error) : "")) return;
    if (result) {
        hold->lease = *result;
        const renewal::Time expires_at = to_time(result->lasts_until);
        watcher_.confirm(hold, expires_at, expires_at - hold->extend_by + hold->pace.every);
    } else if (is_over(result.error().error)) {
        watcher_.lose(hold, result.error().error);
    } else {
        watcher_.retry(hold);
    }
}

}  // namespace holdfast::sdk
