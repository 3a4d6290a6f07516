#include "sdk/heartbeat.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace holdfast::sdk {

namespace {

using std::chrono::milliseconds;

// How many times more often a renewal that failed is tried again.
constexpr int hurry = 4;
constexpr std::size_t workers_max = 4;

// The watcher looks at the clock so often at least: that has gone on while the machine was asleep,
// and timers have not.
constexpr milliseconds watch_interval_max{1'000};

// When there are no more threads to be had.
constexpr milliseconds thread_retry_interval{10};

struct Pace {
    milliseconds every, extend_by, margin;
};

Pace pace_of(const HeartbeatOptions& options, milliseconds ttl) {
    const Lease extended{.scope = LockScope::Named{}, .ttl = options.extend_by.value_or(ttl)};
    return {.every = options.every.value_or(extended.ttl / 3),
            .extend_by = extended.ttl,
            .margin = options.margin.value_or(extended.margin())};
}

bool is_over(const LockError& error) {
    return std::holds_alternative<LockExpired>(error) ||
           std::holds_alternative<LockNotFound>(error);
}

}  // namespace

Heartbeat::Heartbeat(Renew renew, Now now) : renew_(std::move(renew)), now_(std::move(now)) {}

Heartbeat::~Heartbeat() {
    {
        const std::lock_guard guard(mutex_);
        is_stopping_ = true;
        for (const auto& hold : renewing_) hold->renewal.request_stop();
    }
    changed_.notify_all();
    due_came_.notify_all();
    for (auto& thread : threads_) thread.join();
}

std::optional<LockError> Heartbeat::find_fault(const HeartbeatOptions& options, milliseconds ttl) {
    const Pace pace = pace_of(options, ttl);
    const milliseconds shortest = std::min(ttl, pace.extend_by);
    const bool is_sane = pace.every > milliseconds{0} && pace.margin >= milliseconds{0} &&
                         pace.every < shortest && pace.margin < shortest - pace.every;
    if (is_sane) return std::nullopt;
    return InvalidLockRequest{"the lock would be lost before its first renewal"};
}

LockResult<std::shared_ptr<Hold>> Heartbeat::keep(const Lease& lease, HeartbeatOptions options) {
    const Pace pace = pace_of(options, lease.ttl);
    auto hold = std::make_shared<Hold>(lease);
    hold->on_lost = std::move(options.on_lost);
    hold->every = pace.every;
    hold->extend_by = pace.extend_by;
    hold->margin = pace.margin;
    hold->guaranteed_until = lease.lasts_until - hold->margin;
    hold->renew_at = lease.lasts_until - lease.ttl + hold->every;
    const std::lock_guard guard(mutex_);
    const auto now = now_();
    if (now >= lease.lasts_until) return LockError{LockExpired{}};
    if (now >= hold->guaranteed_until) return LockError{LockNotGuaranteed{}};
    try {
        if (threads_.empty()) threads_.emplace_back([this] { watch(); });
    } catch (const std::system_error& error) {
        return LockError{LockLimitReached{std::string("no thread: ") + error.what()}};
    }
    schedule(hold);
    return hold;
}

std::optional<LockError> Heartbeat::let_go(const std::shared_ptr<Hold>& hold) {
    std::function<void(const GuardLost&)> callback;  // destroyed here, and without the mutex
    {
        const std::lock_guard guard(mutex_);
        if (hold->is_let_go) return std::nullopt;
        if (!hold->loss && now_() >= hold->guaranteed_until) {
            lose(hold, LockNotGuaranteed{.message = hold->last_failure});
        }
        if (!hold->loss) {
            hold->is_let_go = true;
            callback.swap(hold->on_lost);
            hold->renewal.request_stop();
            unschedule(*hold);
            return std::nullopt;
        }
    }
    hold->wait_until_told();
    return hold->loss->error;
}

milliseconds Heartbeat::time_left(const Hold& hold) const {
    const std::lock_guard guard(mutex_);
    if (hold.loss || hold.is_let_go) return milliseconds{0};
    return std::max(milliseconds{0},
                    std::chrono::floor<milliseconds>(hold.guaranteed_until - now_()));
}

Lease Heartbeat::lease_of(const Hold& hold) const {
    const std::lock_guard guard(mutex_);
    return hold.lease;
}

void Heartbeat::wake() {
    std::unique_lock guard(mutex_);
    const std::uint64_t asked = ++wakes_asked_;
    changed_.notify_one();
    woken_.wait(guard, [&] { return wakes_done_ >= asked; });
}

void Heartbeat::settle() {
    std::unique_lock guard(mutex_);
    woken_.wait(guard, [&] { return due_.empty() && renewing_.empty(); });
}

void Heartbeat::watch() {
    std::unique_lock guard(mutex_);
    while (!is_stopping_) {
        do_due();
        wakes_done_ = wakes_asked_;
        woken_.notify_all();
        if (schedule_.empty()) {
            changed_.wait(guard);
        } else {
            const auto wait = schedule_.begin()->first - now_();
            changed_.wait_for(guard, std::min<BootClock::duration>(wait, watch_interval_max));
        }
    }
}

void Heartbeat::do_due() {
    while (!schedule_.empty()) {
        const auto now = now_();
        if (schedule_.begin()->first > now) return;
        const std::shared_ptr<Hold> hold = schedule_.begin()->second;
        unschedule(*hold);
        look_after(hold, now);
    }
}

void Heartbeat::look_after(const std::shared_ptr<Hold>& hold, BootClock::time_point now) {
    if (hold->loss) return start_telling(hold);
    if (now >= hold->guaranteed_until) {
        return lose(hold, LockNotGuaranteed{.message = hold->last_failure});
    }
    if (now >= hold->renew_at && !hold->is_renewing) hand_to_worker(hold);
    schedule(hold);
}

void Heartbeat::hand_to_worker(const std::shared_ptr<Hold>& hold) {
    const bool is_worker_free = idle_ > due_.size();
    if (!is_worker_free && threads_.size() <= workers_max) {
        try {
            threads_.emplace_back([this] { work(); });
        } catch (const std::system_error&) {
            if (threads_.size() == 1) {
                hold->renew_at = now_() + thread_retry_interval;
                return;
            }
        }
    }
    hold->is_renewing = true;
    due_.push_back(hold);
    due_came_.notify_one();
}

void Heartbeat::work() {
    std::unique_lock guard(mutex_);
    while (!is_stopping_) {
        if (due_.empty()) {
            ++idle_;
            due_came_.wait(guard);
            --idle_;
            continue;
        }
        const std::shared_ptr<Hold> hold = std::move(due_.front());
        due_.pop_front();
        if (!hold->loss && !hold->is_let_go) renew(hold, guard);
        woken_.notify_all();
    }
}

// Waits for the server without the mutex.
void Heartbeat::renew(const std::shared_ptr<Hold>& hold, std::unique_lock<std::mutex>& guard) {
    const auto now = now_();
    // A lease can be made shorter, also by a request whose answer is lost.
    hold->guaranteed_until = std::min(hold->guaranteed_until, now + hold->extend_by - hold->margin);
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
    if (hold->loss || hold->is_let_go) return;
    hold->is_renewing = false;
    const auto now = now_();
    if (!result && !result.error().is_cancelled()) {
        hold->last_failure = to_text(result.error().error);
    }
    if (now >= hold->guaranteed_until) {
        return lose(hold, LockNotGuaranteed{.message = hold->last_failure});
    }
    if (result) {
        hold->lease = *result;
        hold->guaranteed_until = result->lasts_until - hold->margin;
        hold->renew_at = result->lasts_until - hold->extend_by + hold->every;
        hold->last_failure.clear();
    } else if (is_over(result.error().error)) {
        return lose(hold, result.error().error);
    } else {
        hold->renew_at = now + hold->every / hurry;
    }
    schedule(hold);
}

// At the time when it must be looked after next.
void Heartbeat::schedule(const std::shared_ptr<Hold>& hold) {
    schedule_at(hold->is_renewing ? hold->guaranteed_until
                                  : std::min(hold->renew_at, hold->guaranteed_until),
                hold);
}

void Heartbeat::schedule_at(BootClock::time_point time, const std::shared_ptr<Hold>& hold) {
    unschedule(*hold);
    hold->place = schedule_.emplace(time, hold);
    if (*hold->place == schedule_.begin()) changed_.notify_one();
}

void Heartbeat::unschedule(Hold& hold) {
    if (hold.place) schedule_.erase(*std::exchange(hold.place, std::nullopt));
}

void Heartbeat::lose(const std::shared_ptr<Hold>& hold, LockError error) {
    hold->loss = GuardLost{.lease = hold->lease, .error = std::move(error)};
    hold->renewal.request_stop();
    unschedule(*hold);
    start_telling(hold);
}

void Heartbeat::start_telling(const std::shared_ptr<Hold>& hold) {
    if (!hold->start_telling(hold)) schedule_at(now_() + thread_retry_interval, hold);
}

}  // namespace holdfast::sdk
