#pragma once

// LeaseBook: how many leases each holder has.
//
// The book is made from the events of the table. They come after the commit, and before the holder
// gets any other answer.
//
// Thread safety: none.

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/values/changes.h"
#include "core/values/view.h"

namespace holdfast::embedded {

class LeaseBook {
  public:
    // To be called with every event, in order.
    void on_event(const core::Event& event);
    // Begins anew with what is held. To be called after a recovery, which has no events.
    void recount(const std::vector<core::LockView>& locks);

    // How many leases this owner holds.
    [[nodiscard]] std::size_t count_of(const core::Owner& owner) const;

  private:
    void add(const core::LeaseView& lease);
    void end(core::Fence fence);

    std::unordered_map<std::uint64_t, std::string> held_;  // the keys in counts_, by fencing number
    std::unordered_map<std::string, std::size_t> counts_;  // by owner
};

}  // namespace holdfast::embedded
