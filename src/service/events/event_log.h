#pragma once

#include <cstdint>

#include "base/log/log.h"
#include "core/values/changes.h"
#include "service/books/fence.h"
#include "service/events/admin_act.h"

namespace holdfast::service {

// EventLog: writes lock transitions, refused fences, and what administrators do, to the program's log.
//
// Grants, releases and expiries are worth a line each to a person reading along, and worth nothing
// at a hundred thousand a second. So lines beyond a budget per second are counted instead of
// written, and the count is said when the second is over. Renewals and waits are for debugging. A
// deadlock is a warning. Of a token only its fencing number is shown: the other half is the
// holder's secret.
//
// Thread safety: none.
class EventLog {
  public:
    static constexpr std::uint32_t lines_per_second_max = 200;

    void on_changes(const core::Changes& changes);
    void on_fence_refused(const FenceRefusal& refusal);
    // A warning, whatever the budget says: an audit has every line.
    static void on_act(const AdminAct& act);

  private:
    void on_event(base::LogLevel level, const core::Event& event);
    bool may_write(core::Time now);

    core::Time second_began_{};
    std::uint32_t lines_ = 0;
    std::uint64_t left_out_ = 0;
};

}  // namespace holdfast::service
