#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "base/result.h"
#include "files/disk/state_folder.h"
#include "files/login/nostr_event.h"
#include "service/ports/clock.h"

namespace holdfast::files {

// UsedEvents: a signed event logs in once.
//
// Whoever sees an event on its way could send it again while its time is within the window that
// verify_nostr_event() accepts. So the id of each event that was used is kept for that long, on
// disk, because the event would be good again after a restart otherwise.
//
// Thread safety: any thread. use() waits for the disk.
class UsedEvents {
  public:
    static constexpr std::size_t events_max_default = 10'000;

    // Reads what `folder` has kept; it outlives this.
    [[nodiscard]] static base::Result<std::unique_ptr<UsedEvents>> open(
        StateFolder& folder, std::size_t events_max = events_max_default);

    // Notes that the event is used. False if it was already. Fails when more events of
    // the window have been used than can be remembered, or the disk fails: the event must not be
    // accepted then.
    // REQUIRES: verify_nostr_event() has accepted it, so that strangers cannot fill the memory.
    [[nodiscard]] base::Result<bool> use(const NostrEvent& event, service::WallTime now);

    [[nodiscard]] std::size_t size() const;

  private:
    UsedEvents(StateFolder& folder, base::Descriptor events, std::size_t events_max)
        : folder_(folder), events_(std::move(events)), events_max_(events_max) {}

    void forget_old(service::WallTime now);

    StateFolder& folder_;
    const base::Descriptor events_;
    const std::size_t events_max_;
    mutable std::mutex mutex_;
    std::map<std::string, std::int64_t> created_s_;  // by id
};

}  // namespace holdfast::files
