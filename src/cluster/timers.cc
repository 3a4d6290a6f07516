#include "cluster/timers.h"

#include <algorithm>

namespace holdfast::cluster {

void TimerSlots::set(Slot slot, core::Time time, std::function<void()> task) {
    at(slot) = {.time = time, .task = std::move(task)};
    arm();
}

void TimerSlots::arm() {
    const auto first = std::ranges::min_element(alarms_, {}, &Alarm::time);
    if (first->time == core::Time::max()) return;
    timers_.set(first->time, [this, alive = std::weak_ptr<int>(alive_)] {
        if (!alive.expired()) ring();
    });
}

void TimerSlots::ring() {
    const core::Time now = timers_.now();
    const std::weak_ptr<int> alive = alive_;
    for (Alarm& alarm : alarms_) {
        if (alarm.time > now) continue;
        const Alarm due = std::exchange(alarm, {});
        due.task();
        if (alive.expired()) return;  // the task has destroyed this
    }
    arm();
}

}  // namespace holdfast::cluster
