#include "renewal/watcher.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace holdfast::renewal {

namespace {

// After a failure a renewal is tried again in a quarter of the usual time.
constexpr int hurry = 4;

// The clock goes on while the machine is asleep, and timers do not: so the thread looks often.
constexpr Duration watch_interval_max = std::chrono::seconds{1};

// When the system has no thread to tell a program on.
constexpr Duration thread_retry_interval = std::chrono::milliseconds{10};

LockError not_guaranteed(const Hold& hold) {
    return LockNotGuaranteed{.message = hold.last_failure};
}

}  // namespace

bool is_over(const LockError& error) {
    return std::holds_alternative<LockExpired>(error) ||
           std::holds_alternative<LockNotFound>(error);
}

Pace Pace::of(const HeartbeatOptions& options, std::chrono::milliseconds ttl) {
    const Lease renewed{.scope = LockScope::Named{}, .ttl = options.extend_by.value_or(ttl)};
    return {.every = options.every.value_or(renewed.ttl / 3),
            .extend_by = renewed.ttl,
            .margin = options.margin.value_or(renewed.margin())};
}

std::optional<LockError> Pace::find_fault(std::chrono::milliseconds ttl) const {
    const std::chrono::milliseconds zero{0};
    const std::chrono::milliseconds shortest = std::min(ttl, extend_by);
    const bool is_sane =
        every > zero && margin >= zero && every < shortest && margin < shortest - every;
    if (is_sane) return std::nullopt;
    return InvalidLockRequest{"the lock would be lost before its first renewal"};
}

Hold::Hold(const Lease& its_lease, HeartbeatOptions options)
    : pace(Pace::of(options, its_lease.ttl)),
      on_lost(std::move(options.on_lost)),
      lease(its_lease),
      guaranteed_until(lease.lasts_until - pace.margin),
      renew_at(lease.lasts_until - lease.ttl + pace.every) {}

// Objects that the callback owns may take long to destroy, so that is done on this thread, too.
void Hold::tell() {
    teller_ = std::this_thread::get_id();
    stop.request_stop();
    if (on_lost) {
        try {
            on_lost({.lease = lease, .error = *loss});
        } catch (...) {  // NOLINT(bugprone-empty-catch): nobody is there to catch it
        }
    }
    on_lost = nullptr;
    is_told_ = true;
    is_told_.notify_all();
}

void Hold::wait_until_told() const {
    if (teller_.load() != std::this_thread::get_id()) is_told_.wait(false);
}

void Watcher::stop() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard guard(mutex_);
        is_stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

LockResult<HoldPointer> Watcher::keep(const Lease& lease, HeartbeatOptions options) {
    const auto hold = std::make_shared<Hold>(lease, std::move(options));
    if (auto fault = hold->pace.find_fault(lease.ttl)) return *std::move(fault);
    const std::lock_guard guard(mutex_);
    const Time now = now_();
    if (now >= lease.lasts_until) return LockError{LockExpired{}};
    if (now >= hold->guaranteed_until) return LockError{LockNotGuaranteed{}};
    if (find(lease.fencing_token)) {
        return LockError{InvalidLockRequest{"the lease has a guard already"}};
    }
    try {
        if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
    } catch (const std::system_error& error) {
        return LockError{LockLimitReached{std::string("no thread: ") + error.what()}};
    }
    holds_.emplace(lease.fencing_token, hold);
    schedule(hold);
    return hold;
}

std::optional<LockError> Watcher::let_go(const HoldPointer& hold) {
    auto loss = let_go_without_waiting(hold);
    if (loss) hold->wait_until_told();
    return loss;
}

std::optional<LockError> Watcher::let_go_without_waiting(const HoldPointer& hold) {
    std::function<void(const GuardLost&)> callback;  // destroyed here, without the mutex
    const std::lock_guard guard(mutex_);
    if (hold->state == Hold::State::let_go) return std::nullopt;
    if (hold->state == Hold::State::held && now_() >= hold->guaranteed_until) {
        lose(hold, not_guaranteed(*hold));  // the thread has not noticed it yet
    }
    if (hold->state == Hold::State::lost) return hold->loss;
    callback.swap(hold->on_lost);
    end(*hold, Hold::State::let_go);
    return std::nullopt;
}

Duration Watcher::time_left(const Hold& hold) const {
    const std::lock_guard guard(mutex_);
    if (hold.state != Hold::State::held) return Duration::zero();
    return std::max(Duration::zero(), hold.guaranteed_until - now_());
}

Lease Watcher::lease_of(const Hold& hold) const {
    const std::lock_guard guard(mutex_);
    return hold.lease;
}

void Watcher::end_renewal(const HoldPointer& hold, const LockResult<Lease>& result) {
    if (hold->state != Hold::State::held) return;
    hold->is_renewing = false;
    const bool is_cancelled = !result && std::holds_alternative<LockCancelled>(result.error());
    if (!result && !is_cancelled) hold->last_failure = to_text(result.error());
    if (now_() >= hold->guaranteed_until) return lose(hold, not_guaranteed(*hold));
    if (result) {
        hold->lease = *result;
        hold->guaranteed_until = result->lasts_until - hold->pace.margin;
        hold->renew_at = result->lasts_until - hold->pace.extend_by + hold->pace.every;
        hold->last_failure.clear();
    } else if (is_over(result.error())) {
        return lose(hold, result.error());
    } else {
        hold->renew_at = now_() + hold->pace.every / hurry;
    }
    schedule(hold);
}

void Watcher::on_ended(std::uint64_t fencing_token) {
    const std::lock_guard guard(mutex_);
    if (const HoldPointer hold = find(fencing_token)) lose(hold, LockExpired{});
}

// Only shortens: the guarantee of our own renewal is counted from before it was sent.
void Watcher::on_renewed(std::uint64_t fencing_token, Time lasts_until) {
    const std::lock_guard guard(mutex_);
    const HoldPointer hold = find(fencing_token);
    if (!hold) return;
    shorten(hold, lasts_until);
    schedule(hold);
}

void Watcher::wake() {
    std::unique_lock guard(mutex_);
    if (!thread_.joinable()) return;
    const std::uint64_t asked = ++wakes_asked_;
    changed_.notify_one();
    woken_.wait(guard, [&] { return wakes_done_ >= asked; });
}

void Watcher::watch() {
    std::unique_lock guard(mutex_);
    while (!is_stopping_) {
        do_due();
        wakes_done_ = wakes_asked_;
        woken_.notify_all();
        if (schedule_.empty()) {
            changed_.wait(guard);
        } else {
            changed_.wait_for(guard,
                              std::min(schedule_.begin()->first - now_(), watch_interval_max));
        }
    }
}

void Watcher::do_due() {
    while (!schedule_.empty()) {
        const Time now = now_();
        if (schedule_.begin()->first > now) return;
        const HoldPointer hold = schedule_.begin()->second;
        unschedule(*hold);
        look_after(hold, now);
    }
}

void Watcher::look_after(const HoldPointer& hold, Time now) {
    if (hold->state == Hold::State::lost) return start_telling(hold);
    if (now >= hold->guaranteed_until) return lose(hold, not_guaranteed(*hold));
    if (now >= hold->renew_at && !hold->is_renewing) {
        hold->is_renewing = true;
        // The request may make the lease shorter, also if its answer is lost.
        shorten(hold, now + hold->pace.extend_by);
        renew_(hold, now);
    }
    schedule(hold);
}

void Watcher::lose(const HoldPointer& hold, LockError error) {
    hold->loss = std::move(error);
    end(*hold, Hold::State::lost);
    start_telling(hold);
}

// The guarantee of a lease that ends at `lasts_until`, if it would end later.
void Watcher::shorten(const HoldPointer& hold, Time lasts_until) {
    hold->guaranteed_until = std::min(hold->guaranteed_until, lasts_until - hold->pace.margin);
}

// At the time when the hold must be looked after next.
void Watcher::schedule(const HoldPointer& hold) {
    schedule_at(hold->is_renewing ? hold->guaranteed_until
                                  : std::min(hold->renew_at, hold->guaranteed_until),
                hold);
}

void Watcher::schedule_at(Time time, const HoldPointer& hold) {
    unschedule(*hold);
    hold->position = schedule_.emplace(time, hold);
    if (*hold->position == schedule_.begin()) changed_.notify_one();
}

void Watcher::end(Hold& hold, Hold::State state) {
    hold.state = state;
    unschedule(hold);
    hold.renewal.request_stop();
    holds_.erase(hold.lease.fencing_token);
}

void Watcher::unschedule(Hold& hold) {
    if (hold.position) schedule_.erase(*std::exchange(hold.position, std::nullopt));
}

void Watcher::start_telling(const HoldPointer& hold) {
    try {
        std::thread([hold] { hold->tell(); }).detach();
    } catch (const std::system_error&) {
        schedule_at(now_() + thread_retry_interval, hold);
    }
}

HoldPointer Watcher::find(std::uint64_t fencing_token) const {
    const auto found = holds_.find(fencing_token);
    return found == holds_.end() ? nullptr : found->second;
}

}  // namespace holdfast::renewal
