#pragma once

// Election: who leads, as a snapshot and the events after it tell.
//
// An election is the named lock of its name. The leader is its holder, whatever the door of the
// holder; of several that share the lock, the one that has held it longest. Candidates are those who
// hold the lock and those who wait for it. A snapshot says how things are, and up to which event
// (Response::position); the events after it say how they change. So nothing is missed or told twice
// between the two.
//
// Thread safety: none. Pure: time comes with the events.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "service/events/event_feed.h"
#include "service/ports/clock.h"
#include "service/request.h"

namespace holdfast::service {

class Election {
  public:
    struct Leader {
        std::string holder;
        std::string value;
        std::uint64_t revision = 0;
        core::Fence fence{};
        core::Time since;

        bool operator==(const Leader&) const = default;
    };

    explicit Election(std::string name) : name_(std::move(name)) {}

    // Begins anew with the answer to an Inspect of the named lock, which must not be a failure.
    void begin(const Response& response);

    // What happened next. True if there is another leader, or it has another value. Events that the
    // snapshot shows already change nothing.
    bool follow(const FeedEvent& event);

    // Whether the event is one that may have changed the leader or its value.
    [[nodiscard]] bool is_change(const FeedEvent& event) const;

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] std::optional<Leader> leader() const;
    // The number of the last event that is taken into account.
    [[nodiscard]] std::uint64_t position() const { return position_; }

    // {"election":"nightly","leader":"ann",...,"candidates":3,"position":7}
    void append_json(std::string& out, const Clock& clock) const;

  private:
    [[nodiscard]] bool is_about(const FeedEvent& event) const;

    const std::string name_;
    std::map<core::Fence, Leader> holders_;  // in the order of their grants
    std::size_t waiters_ = 0;
    std::uint64_t position_ = 0;
};

}  // namespace holdfast::service
