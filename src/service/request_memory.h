#pragma once

// RequestMemory: which requests were made before.
//
// A client that lost its connection cannot know whether its request was granted. If it gave the
// request an id, it may ask again by the same id, and finds what the first one got: the place in
// the queue, the lease, or the news that the lease is over already. So a request has one effect,
// however often it arrives.
//
// An id belongs to its owner and its lock. It is known while its request waits or holds, and for a
// while after that; what waited in vain is forgotten, so that it may be tried again. All of it
// follows from the events of the lock table.
//
// Thread safety: none.

#include <cstddef>
#include <deque>
#include <string>
#include <unordered_map>

#include "core/changes.h"
#include "core/request.h"

namespace holdfast::service {

class RequestMemory {
  public:
    // How long, and how many, requests whose leases are over are remembered.
    static constexpr core::Duration ended_kept = std::chrono::minutes{10};
    static constexpr std::size_t ended_max = 100'000;

    // What became of a request.
    struct Known {
        enum class State : std::uint8_t { waiting, held, ended };

        State state = State::waiting;
        core::WaiterId waiter;  // waiting; held, if it waited before
        core::Token token;      // held, ended
    };

    // What is known of a request, if it has an id and was made before; good until the next call.
    [[nodiscard]] const Known* find(const core::AcquireRequest& request) const;

    // Of every event of the table, in order.
    void on_event(const core::Event& event);
    // Forgets the request that the event is about: nobody was told what became of it.
    void forget(const core::Event& event);
    // Of every lease from a store.
    void on_restored(const core::RestoreRequest& lease);

    [[nodiscard]] std::size_t size() const { return known_.size(); }

  private:
    struct Ended {
        std::string key;
        core::Token token;
        core::Time at;
    };

    void end(const std::string& key, const core::Event& event);
    void forget_old(core::Time now);

    std::unordered_map<std::string, Known> known_;
    std::deque<Ended> ended_;  // the first to end first
};

}  // namespace holdfast::service
