#include "embedded/renewer.h"

#include <algorithm>
#include <utility>

#include "embedded/translate.h"

namespace holdfast::embedded {

namespace {

using renewal::to_time;

// The clock of a program stands still while the machine is asleep, as timers do. So the watcher need
// not look often; the clock of a test is moved by hand.
constexpr renewal::Duration watch_interval_max = std::chrono::hours{1};

renewal::Pace pace_of(const HandleOptions& options, std::chrono::milliseconds duration) {
    constexpr renewal::Duration margin_max = std::chrono::seconds{5};
    const renewal::Duration ttl = to_core(duration);
    return {.every = options.renew_every ? to_core(*options.renew_every) : ttl / 3,
            .margin = options.margin ? to_core(*options.margin) : std::min(margin_max, ttl / 6)};
}

}  // namespace

Hold::Hold(const Lock& its_lock, renewal::Pace its_pace)
    : renewal::Hold(its_pace, to_time(its_lock.deadline)),
      duration(its_lock.duration),
      lock(its_lock) {
    renew_at = to_time(lock.deadline) - to_core(duration) + pace.every;
}

Renewer::Renewer(const service::Clock& clock, Renew renew)
    : renew_(std::move(renew)),
      watcher_([&clock] { return to_time(clock.now()); }, watch_interval_max,
               {.renew =
                    [this](const renewal::HoldPointer& any, renewal::Time now) {
                        const auto hold = std::static_pointer_cast<Hold>(any);
                        renew_(hold->lock.token, hold->duration,
                               [this, hold, now](const LockResult<Lock>& result) {
                                   on_renewed(hold, now, result);
                               });
                    },
                .on_end =
                    [this](renewal::Hold& hold) {
                        holds_.erase(static_cast<Hold&>(hold).lock.fencing_token);
                    }}) {}

std::optional<LockError> Renewer::find_fault(const HandleOptions& options,
                                             std::chrono::milliseconds duration) {
    return pace_of(options, duration).find_fault(to_core(duration));
}

LockResult<std::shared_ptr<Hold>> Renewer::keep(const Lock& lock, HandleOptions options) {
    const auto hold = std::make_shared<Hold>(lock, pace_of(options, lock.duration));
    if (options.on_lost) {
        // The hold lives until its callback has returned.
        hold->on_lost = [hold = hold.get(),
                         on_lost = std::move(options.on_lost)](const LockError& loss) {
            on_lost({.lock = hold->lock, .error = loss});
        };
    }
    const auto guard = watcher_.guard();
    if (auto fault = watcher_.find_fault(*hold, to_time(lock.deadline))) return *std::move(fault);
    if (!holds_.emplace(lock.fencing_token, hold).second) {
        return LockError{InvalidLockRequest{"the lock has a handle already"}};
    }
    watcher_.add(hold);
    return hold;
}

Lock Renewer::lock_of(const Hold& hold) const {
    const auto guard = watcher_.guard();
    return hold.lock;
}

void Renewer::on_event(const core::Event& event) {
    const auto guard = watcher_.guard();
    const auto found = holds_.find(core::as_number(event.lease.token.fence));
    if (found == holds_.end()) return;
    const std::shared_ptr<Hold> hold = found->second;
    if (event.kind == core::EventKind::released || event.kind == core::EventKind::expired) {
        watcher_.lose(hold, LockExpired{});
    } else if (event.kind == core::EventKind::renewed) {
        // Only shortens: the guarantee of our own renewal is counted from before it was sent.
        watcher_.shorten(hold, to_time(event.lease.expires_at) - hold->pace.margin);
    }
}

void Renewer::on_renewed(const std::shared_ptr<Hold>& hold, renewal::Time sent_at,
                         const LockResult<Lock>& result) {
    const auto guard = watcher_.guard();
    if (!watcher_.end_renewal(hold, result ? "" : to_text(result.error()))) return;
    if (result) {
        hold->lock = *result;
        watcher_.confirm(hold, sent_at + to_core(result->duration), sent_at + hold->pace.every);
    } else if (std::holds_alternative<LockExpired>(result.error()) ||
               std::holds_alternative<LockNotFound>(result.error())) {
        watcher_.lose(hold, result.error());
    } else {
        watcher_.retry(hold);
    }
}

}  // namespace holdfast::embedded
