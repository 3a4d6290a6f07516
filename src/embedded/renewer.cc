#include "embedded/renewer.h"

#include <algorithm>
#include <utility>

#include "embedded/translate.h"

namespace holdfast::embedded {

namespace {

// How many times more often a renewal that failed is tried again.
constexpr int hurry = 4;

// When there are no more threads to be had, to tell a program on.
constexpr core::Duration thread_retry_interval = std::chrono::milliseconds{10};

core::Duration renew_every(const HandleOptions& options, std::chrono::milliseconds duration) {
    return options.renew_every ? to_core(*options.renew_every) : to_core(duration) / 3;
}

core::Duration margin(const HandleOptions& options, std::chrono::milliseconds duration) {
    constexpr core::Duration margin_max = std::chrono::seconds{5};
    return options.margin ? to_core(*options.margin) : std::min(margin_max, to_core(duration) / 6);
}

core::Time to_time(std::chrono::steady_clock::time_point time) {
    return core::Time{std::chrono::floor<core::Duration>(time.time_since_epoch())};
}

}  // namespace

std::optional<LockError> Renewer::find_fault(const HandleOptions& options,
                                             std::chrono::milliseconds duration) {
    const core::Duration every = renew_every(options, duration);
    const core::Duration early = margin(options, duration);
    const bool is_sane = every > core::Duration::zero() && early >= core::Duration::zero() &&
                         every < to_core(duration) && early < to_core(duration) - every;
    if (is_sane) return std::nullopt;
    return InvalidLockRequest{"the lock would be lost before its first renewal"};
}

void Renewer::start() {
    thread_ = std::thread([this] { run(); });
}

void Renewer::stop() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard guard(mutex_);
        is_stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

LockResult<std::shared_ptr<Hold>> Renewer::keep(const Lock& lock, HandleOptions options) {
    auto hold = std::make_shared<Hold>(lock);
    hold->on_lost = std::move(options.on_lost);
    hold->renew_every = renew_every(options, lock.duration);
    hold->margin = margin(options, lock.duration);
    const core::Time expires_at = to_time(lock.deadline);
    hold->guaranteed_until = expires_at - hold->margin;
    hold->renew_at = expires_at - to_core(lock.duration) + hold->renew_every;
    const std::lock_guard guard(mutex_);
    const core::Time now = clock_.now();
    if (now >= expires_at) return LockError{LockExpired{}};
    if (now >= hold->guaranteed_until) return LockError{LockNotGuaranteed{}};
    if (!holds_.emplace(lock.fencing_token, hold).second) {
        return LockError{InvalidLockRequest{"the lock has a handle already"}};
    }
    schedule(hold);
    return hold;
}

std::optional<LockError> Renewer::let_go(Hold& hold) {
    std::function<void(const LeaseLost&)> callback;  // destroyed here, and without the mutex
    {
        const std::lock_guard guard(mutex_);
        if (hold.is_let_go) return std::nullopt;
        const auto kept = holds_.find(hold.lock.fencing_token);
        if (kept != holds_.end() && clock_.now() >= hold.guaranteed_until) {
            // The thread that would have noticed has not come to it yet.
            lose(std::shared_ptr(kept->second), LockNotGuaranteed{.message = hold.last_failure});
        }
        if (!hold.loss) {
            hold.is_let_go = true;
            callback.swap(hold.on_lost);
            unschedule(hold);
            holds_.erase(hold.lock.fencing_token);
            return std::nullopt;
        }
    }
    hold.wait_until_told();
    return hold.loss->error;
}

core::Duration Renewer::time_left(const Hold& hold) const {
    const std::lock_guard guard(mutex_);
    if (hold.loss || hold.is_let_go) return core::Duration::zero();
    return std::max(core::Duration::zero(), hold.guaranteed_until - clock_.now());
}

Lock Renewer::lock_of(const Hold& hold) const {
    const std::lock_guard guard(mutex_);
    return hold.lock;
}

void Renewer::on_event(const core::Event& event) {
    const std::lock_guard guard(mutex_);
    const auto found = holds_.find(core::as_number(event.lease.token.fence));
    if (found == holds_.end()) return;
    const std::shared_ptr<Hold> hold = found->second;
    if (event.kind == core::EventKind::released || event.kind == core::EventKind::expired) {
        lose(hold, LockExpired{});
    } else if (event.kind == core::EventKind::renewed) {
        // Only ever less: what a renewal of ours gives is counted from before it was sent.
        const core::Time until = event.lease.expires_at - hold->margin;
        if (until >= hold->guaranteed_until) return;
        hold->guaranteed_until = until;
        schedule(hold);
    }
}

void Renewer::wake() {
    std::unique_lock guard(mutex_);
    const std::uint64_t asked = ++wakes_asked_;
    changed_.notify_one();
    woken_.wait(guard, [&] { return wakes_done_ >= asked; });
}

void Renewer::run() {
    // Waking early does no harm, and the clock of a test runs at another speed.
    constexpr core::Duration wait_max = std::chrono::hours{1};
    std::unique_lock guard(mutex_);
    while (!is_stopping_) {
        do_due();
        wakes_done_ = wakes_asked_;
        woken_.notify_all();
        if (schedule_.empty()) {
            changed_.wait(guard);
        } else {
            const core::Duration wait = schedule_.begin()->first - clock_.now();
            changed_.wait_for(guard, std::min(wait, wait_max));
        }
    }
}

void Renewer::do_due() {
    while (!schedule_.empty()) {
        const core::Time now = clock_.now();
        if (schedule_.begin()->first > now) return;
        const std::shared_ptr<Hold> hold = schedule_.begin()->second;
        unschedule(*hold);
        look_after(hold, now);
    }
}

void Renewer::look_after(const std::shared_ptr<Hold>& hold, core::Time now) {
    if (hold->loss) return start_telling(hold);
    if (now >= hold->guaranteed_until) {
        return lose(hold, LockNotGuaranteed{.message = hold->last_failure});
    }
    if (now >= hold->renew_at && !hold->is_renewing) {
        hold->is_renewing = true;
        renew_(hold->lock.token, hold->duration,
               [this, hold, sent_at = now](const LockResult<Lock>& result) {
                   on_renewed(hold, sent_at, result);
               });
    }
    schedule(hold);
}

void Renewer::on_renewed(const std::shared_ptr<Hold>& hold, core::Time sent_at,
                         const LockResult<Lock>& result) {
    const std::lock_guard guard(mutex_);
    if (hold->loss || hold->is_let_go) return;
    hold->is_renewing = false;
    const core::Time now = clock_.now();
    if (now >= hold->guaranteed_until) {
        return lose(hold, LockNotGuaranteed{.message = hold->last_failure});
    }
    if (result) {
        hold->lock = *result;
        hold->guaranteed_until = sent_at + to_core(result->duration) - hold->margin;
        hold->renew_at = sent_at + hold->renew_every;
        hold->last_failure.clear();
    } else if (std::holds_alternative<LockExpired>(result.error()) ||
               std::holds_alternative<LockNotFound>(result.error())) {
        return lose(hold, result.error());
    } else {
        hold->last_failure = to_text(result.error());
        hold->renew_at = now + hold->renew_every / hurry;
    }
    schedule(hold);
}

// At the time when it must be looked after next.
void Renewer::schedule(const std::shared_ptr<Hold>& hold) {
    const core::Time next = hold->is_renewing ? hold->guaranteed_until
                                              : std::min(hold->renew_at, hold->guaranteed_until);
    schedule_at(next, hold);
}

void Renewer::schedule_at(core::Time time, const std::shared_ptr<Hold>& hold) {
    unschedule(*hold);
    hold->place = schedule_.emplace(time, hold);
    if (*hold->place == schedule_.begin()) changed_.notify_one();
}

void Renewer::unschedule(Hold& hold) {
    if (hold.place) schedule_.erase(*std::exchange(hold.place, std::nullopt));
}

void Renewer::lose(const std::shared_ptr<Hold>& hold, LockError error) {
    hold->loss = LeaseLost{.lock = hold->lock, .error = std::move(error)};
    unschedule(*hold);
    holds_.erase(hold->lock.fencing_token);
    start_telling(hold);
}

void Renewer::start_telling(const std::shared_ptr<Hold>& hold) {
    if (!hold->start_telling(hold)) schedule_at(clock_.now() + thread_retry_interval, hold);
}

}  // namespace holdfast::embedded
