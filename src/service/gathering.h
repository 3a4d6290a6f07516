#pragma once

// Gathering: how long the next commit waits for the clients that the last commit has answered.
//
// Most clients that were answered ask again at once. If the next commit were handed over the moment
// the last one is done, they would be too late for it, and each commit would have half of the
// clients. Where a commit takes much longer than a client takes to ask again, it is worth waiting a
// little: until as many answers rest on the open commit as the clients that are there can ask for,
// or until half the time of a commit has passed.
//
// A client that is alone never waits: its request is all that there can be.
//
// Thread safety: none.

#include <algorithm>
#include <cstddef>

#include "core/values/ids.h"
#include "service/ports/clock.h"

namespace holdfast::service {

class Gathering {
  public:
    // `longest`: CommitLimits::gather_max of the store. Zero: never wait.
    Gathering(const Clock& clock, core::Duration longest) : clock_(clock), longest_(longest) {}

    void on_started() {
        if (longest_ > core::Duration::zero()) started_ = clock_.now();
    }
    // `answered` clients are told of the commit that is done; `waiting` wait for the open one.
    void on_done(std::size_t answered, std::size_t waiting) {
        if (longest_ == core::Duration::zero()) return;
        const core::Time now = clock_.now();
        goal_ = answered + waiting;
        until_ = now + std::min(longest_, (now - started_) / share);
    }

    // Whether the open commit, on which so many answers rest, is not to be handed over yet.
    [[nodiscard]] bool is_worth_it(std::size_t waiting) const {
        return waiting < goal_ && clock_.now() < until_;
    }
    // When it has to be handed over at the latest.
    [[nodiscard]] core::Time until() const { return until_; }

  private:
    static constexpr int share = 2;

    const Clock& clock_;
    const core::Duration longest_;
    core::Time started_{};
    core::Time until_{};
    std::size_t goal_ = 0;
};

}  // namespace holdfast::service
