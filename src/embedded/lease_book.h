#pragma once

// LeaseBook: remembers the tokens that were issued, and their owners.
//
// The lock table forgets a lease when the lease ends. The book remembers the last ended leases with
// their secrets: so a holder that was too slow is told that its lock has ended, and somebody who
// guesses tokens learns nothing. It also counts the locks of each holder.
//
// The book is made from the events of the table. They come after the commit, and before the holder
// gets any other answer.
//
// Thread safety: none.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/values/changes.h"
#include "core/values/view.h"

namespace holdfast::embedded {

class LeaseBook {
  public:
    explicit LeaseBook(std::size_t ended_max) : ended_max_(ended_max) {}

    // To be called with every event, in order.
    void on_event(const core::Event& event);
    // Replaces the held leases. To be called after a recovery, which has no events. The ended leases
    // stay known.
    void recount(const std::vector<core::LockView>& locks);

    // Whether this token was issued.
    [[nodiscard]] bool knows(core::Token token) const;
    // How many locks this owner holds.
    [[nodiscard]] std::size_t count_of(const core::Owner& owner) const;

  private:
    struct Held {
        core::Secret secret;
        std::string owner;  // the key in counts_
    };

    void add(const core::LeaseView& lease);
    void end(core::Fence fence);
    void remember(core::Token token);

    const std::size_t ended_max_;
    std::unordered_map<std::uint64_t, Held> held_;           // by fencing number
    std::unordered_map<std::string, std::size_t> counts_;    // by owner
    std::unordered_map<std::uint64_t, core::Secret> ended_;  // by fencing number
    std::deque<std::uint64_t> ended_order_;                  // the oldest first
};

}  // namespace holdfast::embedded
