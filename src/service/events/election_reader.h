#pragma once

// ElectionReader: tells its owner who leads an election, now and at every change.
//
// It joins a snapshot and the feed of events without a gap: it watches the feed first, then asks for
// the snapshot, and takes from the feed what happened after the snapshot's position. When the feed
// says that events are missing, it asks for another snapshot.
//
// Thread safety: everything on the thread of the loop.
// Lifetime: the port, the feed and the executor outlive it. Its owner closes it; after that it calls
// nobody, and its memory is freed when nothing refers to it any more.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "service/events/election.h"
#include "service/events/event_feed.h"
#include "service/ports/executor.h"
#include "service/ports/port.h"

namespace holdfast::service {

class ElectionReader final : public std::enable_shared_from_this<ElectionReader> {
  public:
    struct Parts {
        Port& port;
        EventFeed& feed;
        Executor& here;  // of the loop
    };
    struct Listener {
        // The state is known for the first time, or it has changed. The first time, `has_changed`
        // says whether it may have changed since `after`.
        std::function<void(const Election& election, bool has_changed)> on_state;
        // There is no state, and nothing more will come.
        std::function<void(const Response& failure)> on_failure;
    };

    // `after`: the position that the owner has seen; without it, what happens from now on is news.
    // Nothing is told before this function has returned.
    static std::shared_ptr<ElectionReader> open(const Parts& parts, std::string name,
                                                std::optional<std::uint64_t> after,
                                                Listener listener);
    void close() { is_open_ = false; }

    // REQUIRES: on_state was called.
    [[nodiscard]] const Election& election() const { return election_; }

    // While it is paused, nothing is read: the feed remembers what happens, for a while.
    void pause() { is_paused_ = true; }
    void resume();

    // Only for open().
    ElectionReader(const Parts& parts, std::string name, std::optional<std::uint64_t> after,
                   Listener listener);

  private:
    void ask();
    void on_snapshot(const Response& response);
    void read();
    bool take(const FeedEvent& event);
    void tell(bool has_changed);

    const Parts parts_;
    const Listener listener_;
    const std::optional<std::uint64_t> after_;
    Election election_;
    std::shared_ptr<EventFeed::Watch> watch_;
    bool is_open_ = true;
    bool is_paused_ = false;
    bool is_asking_ = false;    // for a snapshot
    bool has_state_ = false;    // there was a snapshot
    bool is_told_ = false;      // the owner knows a state
    bool has_changed_ = false;  // since `after`
};

}  // namespace holdfast::service
