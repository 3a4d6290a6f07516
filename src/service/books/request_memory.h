#pragma once

// RequestMemory: which requests were made before.
//
// A client that lost its connection cannot know whether its request was granted. If it gave the
// request an id, it may ask again by the same id, and finds what the first one got: the place in
// the queue, the lease, or the news that the lease is over already. So a request has one effect,
// however often it arrives.
//
// An id belongs to its owner, to its lock or set of locks, and to the name of the access token that the
// request came with: another token cannot learn by it what this one was granted. Leases that a store
// has kept without such a name belong to every token. Who uses it again for another mode, or
// for a semaphore with another limit, asks for something else (asks_for_the_same()). It is known while its request waits
// or holds, and for ten minutes after its lease has ended: find() compares the times, so that this
// holds also on a server on which nothing else happens. What waited in vain is forgotten, so that
// it may be tried again. All of it follows from the events of the lock table.
//
// Ids of ended leases are limited in number and in bytes, the oldest being forgotten first. Those
// that wait or hold are limited with the waiters and leases of the table.
//
// Thread safety: none.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "core/containers/growing_map.h"
#include "core/values/changes.h"
#include "core/values/request.h"

namespace holdfast::service {

class RequestMemory {
  public:
    // How long requests whose leases are over are remembered, how many of them, and how many bytes
    // of memory they may take together.
    static constexpr core::Duration ended_kept = std::chrono::minutes{10};
    static constexpr std::size_t ended_max = 100'000;
    static constexpr std::size_t ended_bytes_max = std::size_t{64} << 20;
    // What is too old is removed at most this much later, so that a busy server need not wake up
    // for each of them.
    static constexpr core::Duration removal_delay = std::chrono::minutes{1};

    // What became of a request.
    struct Known {
        enum class State : std::uint8_t { waiting, held, ended };

        State state = State::waiting;
        core::WaiterId waiter;  // waiting; held, if it waited before
        core::Token token;      // held, ended
        core::Time ended_at;    // ended
        // What was asked for, as far as it is not part of the key.
        core::Mode mode = core::Mode::exclusive;
        std::uint32_t limit = 1;      // of a semaphore
        std::string token_name = {};  // of the access token; empty: none, or it is not known
    };

    // What is known of a request at this time, if it has an id and was made before; good until the
    // next call. `by`: Asker::by of the request.
    [[nodiscard]] const Known* find(const core::AcquireRequest& request, std::string_view by,
                                    core::Time now) const;

    // Whether the request asks for what the one with its id has asked for.
    [[nodiscard]] static bool asks_for_the_same(const core::AcquireRequest& request,
                                                const Known& known);

    // Of every event of the table, in order.
    void on_event(const core::Event& event);
    // Forgets the request that the event is about: nobody was told what became of it.
    void forget(const core::Event& event);
    // Of every lease from a store.
    void on_restored(const core::RestoreRequest& lease);

    // Removes what is too old by now.
    void forget_old(core::Time now);
    // When forget_old() should be called next, if ever.
    [[nodiscard]] std::optional<core::Time> next_removal() const;

    [[nodiscard]] std::size_t size() const { return size_; }
    // How much memory the ids of ended leases take, roughly.
    [[nodiscard]] std::size_t ended_bytes() const { return ended_bytes_; }

  private:
    struct Ended {
        std::string key;
        core::Token token;
        core::Time at;
    };

    // What is known by this key and is meant by `is_meant`; null if there is nothing.
    template <class Predicate>
    [[nodiscard]] Known* find_if(const std::string& key, Predicate is_meant);
    template <class Predicate>
    void erase_if(const std::string& key, Predicate is_meant);
    void put(const std::string& key, Known known);
    void end(std::string key, const core::Event& event);
    void forget_oldest();

    // Clients choose the ids.
    struct KeyHash {
        [[nodiscard]] std::uint32_t operator()(std::string_view key) const;
    };

    // By what was asked for: an entry for each access token.
    core::GrowingMap<std::string, std::vector<Known>, KeyHash> known_;
    std::deque<Ended> ended_;  // the first to end first
    std::size_t ended_bytes_ = 0;
    std::size_t size_ = 0;  // of all entries of known_
};

}  // namespace holdfast::service
