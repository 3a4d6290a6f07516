#pragma once

// KeptPlaces: the places in queues that are kept although nobody waits there at the moment.
//
// A wait that was answered as `still_waiting` has a place for a while (see wait_limits.h). If its
// turn comes meanwhile, the lease is kept with the place. A place is taken by the client that asks
// again, or given up when its time is over.
//
// Thread safety: none.

#include <cstdint>
#include <list>
#include <optional>

#include "core/containers/growing_map.h"
#include "core/values/ids.h"

namespace holdfast::service {

struct KeptPlace {
    core::WaiterId waiter;
    core::Time until;
    std::optional<core::Token> grant;  // its turn has come, and nobody was told
};

class KeptPlaces {
  public:
    // REQUIRES: it is not kept yet, and `until` is no earlier than that of all before.
    void keep(core::WaiterId waiter, core::Time until);

    // Its turn has come. Does nothing if the place is not kept.
    void grant(core::WaiterId waiter, core::Token lease);

    // The place, which is not kept any more; nothing if it was not.
    std::optional<KeptPlace> take(core::WaiterId waiter);
    // The same of any place whose time is over by then.
    std::optional<KeptPlace> take_due(core::Time now);
    // The same of any place.
    std::optional<KeptPlace> take_any();

    // When the first of them ends.
    [[nodiscard]] std::optional<core::Time> next_deadline() const;
    [[nodiscard]] std::size_t size() const { return places_.size(); }
    void clear();

  private:
    using Place = std::list<KeptPlace>::iterator;

    KeptPlace remove(Place place);

    std::list<KeptPlace> places_;  // the first to end first
    core::GrowingMap<std::uint64_t, Place> by_serial_;
};

}  // namespace holdfast::service
