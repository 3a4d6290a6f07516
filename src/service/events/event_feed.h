#pragma once

// EventFeed: what happened lately, for people who watch.
//
// The writer publishes every event; the feed keeps the latest of them, numbered, within bounds of
// count and size. A Watch reads them in order, at its own pace, from the number where its reader
// stopped last time, or from the number up to which a snapshot shows everything
// (Response::position). One that is too slow, or comes back too late, is told that it missed some.
//
// Before the first watch, events are only counted: nobody can come back for what nobody has read.
//
// Thread safety: publish() on the writer's thread; watch() and each Watch on the thread of the
// executor it was made with. Lifetime: the feed outlives its watches.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/values/changes.h"
#include "service/books/fence.h"
#include "service/events/admin_act.h"
#include "service/ports/executor.h"

namespace holdfast::service {

// A core::Event, a refused fence or an act, with texts of its own.
struct FeedEvent {
    // What stands in the row as an event, and is none.
    struct Aside {
        std::optional<std::uint64_t> refused_by;  // a fence: the larger number
        AdminAction action{};                     // otherwise: an act
    };

    std::uint64_t id = 0;
    core::Event event;  // its views point into texts_
    // Instead: the event says nothing then, but when.
    std::optional<FenceRefusal> refused_fence;
    std::optional<AdminAct> act;

    FeedEvent(std::uint64_t number, const core::Event& happened, const std::optional<Aside>& aside);
    FeedEvent(const FeedEvent&) = delete;
    FeedEvent& operator=(const FeedEvent&) = delete;

    // Whether it is a transition of a lock, a wait or a session.
    [[nodiscard]] bool is_transition() const { return !refused_fence && !act; }
    [[nodiscard]] std::size_t bytes() const { return sizeof *this + texts_.size(); }

  private:
    std::string texts_;
};

struct FeedLimits {
    std::size_t events_max = 10'000;
    std::size_t bytes_max = std::size_t{8} * 1024 * 1024;
};

class EventFeed {
  public:
    class Watch;

    // Events are numbered from `first_id`, which must be larger than any number given out before:
    // readers come back after a restart, too.
    explicit EventFeed(std::uint64_t first_id, FeedLimits limits = {});

    // The number of the next event.
    [[nodiscard]] std::uint64_t next_id() const {
        const std::lock_guard guard(mutex_);
        return next_id_;
    }

    // What happened. Takes the changes if they are many, and leaves others to be overwritten.
    void publish(core::Changes&& changes);
    void publish(const FenceRefusal& refusal);
    void publish(const AdminAct& act);

    // The number of the last event so far. Any thread may ask.
    [[nodiscard]] std::uint64_t position() const;

    // So many events happened that will never be told: their numbers are left out, and everybody
    // who has not come further is told that some are missing. What the feed had is forgotten.
    void lose(std::uint64_t count);

    // Reads what comes after event `after`; without it, what happens from now on. `on_news` is
    // called on `here` when there is something to read, and again only after it was read; not after
    // the watch is gone.
    [[nodiscard]] std::shared_ptr<Watch> watch(Executor& here, std::optional<std::uint64_t> after,
                                               std::function<void()> on_news);

  private:
    // Events in a row, which are forgotten together when there is too much text. Writing one down
    // allocates nothing once the buffers have grown: most are never read.
    struct Chunk {
        std::uint64_t first_id = 0;
        std::size_t bytes = 0;
        core::Changes events;
        // A refused fence is in the row as an event on the name of its resource, with its number; an act
        // as an event on the name of what it is about. These say which is which, by their ids.
        std::map<std::uint64_t, FeedEvent::Aside> asides;
    };

    bool count_only(std::size_t events);
    [[nodiscard]] bool is_worth_taking(const core::Changes& changes) const;
    void take(core::Changes& changes);
    void publish(const core::Event& event, const FeedEvent::Aside& aside);
    void add(const core::Event& event, const std::optional<FeedEvent::Aside>& aside);
    void drop_what_is_too_much();
    void drop_oldest_chunk();
    void call_watches();
    [[nodiscard]] Chunk& chunk_to_fill();
    [[nodiscard]] std::shared_ptr<const FeedEvent> copy(std::uint64_t id) const;

    const FeedLimits limits_;
    mutable std::mutex mutex_;
    bool was_ever_watched_ = false;
    std::uint64_t oldest_id_, next_id_;  // what is known, of all that is in the chunks
    std::size_t bytes_ = 0;
    std::deque<Chunk> chunks_;
    core::Changes spare_;  // of a chunk that was forgotten
    std::vector<Watch*> watches_;
};

// One reader of a feed.
class EventFeed::Watch : public std::enable_shared_from_this<Watch> {
  public:
    struct Page {
        std::vector<std::shared_ptr<const FeedEvent>> events;
        bool has_missed_some = false;  // before the first of these
        bool has_more = false;         // behind the last of these
    };

    Watch(EventFeed& feed, Executor& here, std::uint64_t next_id, std::function<void()> on_news);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    // The next events: at most `events_max`, and no more behind the one with which they have
    // core::copied_max bytes. When there are more, news will be told.
    [[nodiscard]] Page read(std::size_t events_max);

  private:
    friend class EventFeed;

    void call();

    EventFeed& feed_;
    Executor& here_;
    const std::function<void()> on_news_;
    std::uint64_t next_id_;   // guarded by the feed's mutex,
    bool is_called_ = false;  // and so is this: there are news it has not read
};

}  // namespace holdfast::service
