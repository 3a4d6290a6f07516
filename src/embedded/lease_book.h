#pragma once

// LeaseBook: which tokens were given out, and to whom.
//
// The lock table forgets a lease when it ends, and can say of a token only that its number is one
// of those it has given out. The book remembers the last of the ended ones, secrets included, so
// that a holder that was too slow is told of its own lock and a guesser of nothing. It also counts
// the locks of each holder.
//
// All of it follows from the events of the table, which come when they can no longer be undone:
// after the lease has ended in the table, before its holder hears anything else.
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

    // Of every event, in order.
    void on_event(const core::Event& event);
    // Begins anew with what is held, after the table did: it says nothing of leases from a store,
    // nor of those that a store has lost. What ended is still known.
    void recount(const std::vector<core::LockView>& locks);

    // Whether this very token was given out.
    [[nodiscard]] bool knows(core::Token token) const;
    // How many locks this owner holds.
    [[nodiscard]] std::size_t count_of(const core::Owner& owner) const;

  private:
    struct Held {
        core::Secret secret;
        std::string owner;  // its key
    };

    void add(const core::LeaseView& lease);
    void end(core::Fence fence);
    void remember(core::Token token);

    const std::size_t ended_max_;
    std::unordered_map<std::uint64_t, Held> held_;           // by fencing number
    std::unordered_map<std::string, std::size_t> counts_;    // by owner
    std::unordered_map<std::uint64_t, core::Secret> ended_;  // by fencing number
    std::deque<std::uint64_t> ended_order_;                  // the first to end first
};

}  // namespace holdfast::embedded
