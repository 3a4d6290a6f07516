#include "renewal/watcher.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace holdfast::renewal {

namespace {

// After a failure a renewal is tried again in a quarter of the usual time.
constexpr int hurry = 4;

// When the system has no thread to tell a program on.
constexpr Duration thread_retry_interval = std::chrono::milliseconds{10};

LockError not_guaranteed(const Hold& hold) {
    return LockNotGuaranteed{.message = hold.last_failure};
}

}  // namespace

std::optional<LockError> Pace::find_fault(Duration ttl) const {
    const Duration zero{0};
    const bool is_sane = every > zero && margin >= zero && every < ttl && margin < ttl - every;
    if (is_sane) return std::nullopt;
    return InvalidLockRequest{"the lock would be lost before its first renewal"};
}

// Objects that the callback owns may take long to destroy, so that is done on this thread, too.
void Hold::tell() {
    teller_ = std::this_thread::get_id();
    stop.request_stop();
    if (on_lost) {
        try {
            on_lost(*loss);
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

void Watcher::start() {
    thread_ = std::thread([this] { watch(); });
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

std::optional<LockError> Watcher::find_fault(const Hold& hold, Time expires_at) const {
    const Time now = now_();
    if (now >= expires_at) return LockExpired{};
    if (now >= hold.guaranteed_until) return LockNotGuaranteed{};
    return std::nullopt;
}

std::optional<LockError> Watcher::let_go(const HoldPointer& hold) {
    std::function<void(const LockError&)> callback;  // destroyed here, without the mutex
    {
        const std::lock_guard guard(mutex_);
        if (hold->state == Hold::State::let_go) return std::nullopt;
        if (hold->state == Hold::State::held && now_() >= hold->guaranteed_until) {
            lose(hold, not_guaranteed(*hold));  // the thread has not noticed it yet
        }
        if (hold->state == Hold::State::held) {
            hold->state = Hold::State::let_go;
            callback.swap(hold->on_lost);
            unschedule(*hold);
            actions_.on_end(*hold);
            return std::nullopt;
        }
    }
    hold->wait_until_told();
    return hold->loss;
}

Duration Watcher::time_left(const Hold& hold) const {
    const std::lock_guard guard(mutex_);
    if (hold.state != Hold::State::held) return Duration::zero();
    return std::max(Duration::zero(), hold.guaranteed_until - now_());
}

bool Watcher::end_renewal(const HoldPointer& hold, std::string failure) {
    if (hold->state != Hold::State::held) return false;
    hold->is_renewing = false;
    if (!failure.empty()) hold->last_failure = std::move(failure);
    if (now_() < hold->guaranteed_until) return true;
    lose(hold, not_guaranteed(*hold));
    return false;
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): first what counts, then what follows
void Watcher::confirm(const HoldPointer& hold, Time expires_at, Time renew_at) {
    hold->guaranteed_until = expires_at - hold->pace.margin;
    hold->renew_at = renew_at;
    hold->last_failure.clear();
    schedule(hold);
}

void Watcher::retry(const HoldPointer& hold) {
    hold->renew_at = now_() + hold->pace.every / hurry;
    schedule(hold);
}

void Watcher::lose(const HoldPointer& hold, LockError error) {
    hold->state = Hold::State::lost;
    hold->loss = std::move(error);
    unschedule(*hold);
    actions_.on_end(*hold);
    start_telling(hold);
}

void Watcher::shorten(const HoldPointer& hold, Time until) {
    if (until >= hold->guaranteed_until) return;
    hold->guaranteed_until = until;
    schedule(hold);
}

void Watcher::wake() {
    std::unique_lock guard(mutex_);
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
            changed_.wait_for(guard, std::min(schedule_.begin()->first - now_(), interval_max_));
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
        actions_.renew(hold, now);
    }
    schedule(hold);
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

}  // namespace holdfast::renewal
