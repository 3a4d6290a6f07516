#pragma once

// Auditor: judges a lock table by its events alone.
//
// From nothing but the stream of events the auditor works out who holds and who waits. It complains
// if the events break an invariant (the numbers are those of docs/simulator.md):
//
//   (1) two leases that exclude each other, or more leases than permits
//   (2) a fencing number that does not grow
//   (4) a grant to a waiter that is gone, a renewal of a lease that has ended
//   (5) an expiry that is too early or too late
//   (6) a grant out of turn
//   (12) a deadlock that is not told
//
// It also checks that the events are complete: nothing ends that has not begun, and the length of
// the queue is the one that the auditor has counted.

#include <optional>
#include <string>
#include <vector>

#include "core/values/changes.h"

namespace holdfast::model {

class Auditor {
  public:
    // Reads one event. Returns the complaint, if there is one.
    std::optional<std::string> see(const core::Event& event);

    // Complains about an expiry that was due by `now` and has not happened.
    [[nodiscard]] std::optional<std::string> find_overdue(core::Time now) const;

    [[nodiscard]] std::size_t holds() const { return holds_.size(); }
    [[nodiscard]] std::size_t waits() const { return waits_.size(); }

  private:
    // One scope of a lease or a waiter, with a name of its own.
    struct Member {
        std::string name;
        core::Scope scope;  // its name is `name`
        core::Mode mode = core::Mode::exclusive;
        std::uint32_t limit = 1;

        [[nodiscard]] core::Scope place() const;
    };
    using Members = std::vector<Member>;

    struct Hold {
        core::Fence fence{};
        std::string owner;
        Members members;
        core::Door door{};
        core::SessionId session;
        std::string waiter;
        core::Time expires_at, grace_until;
        bool is_in_grace = false;
    };
    struct Wait {
        core::WaiterId id;
        Members members;
        std::string owner;
        core::Door door{};
        core::SessionId session;
        std::string waiter;
    };

    [[nodiscard]] static Members members_of(const core::Event& event);
    [[nodiscard]] static std::string to_text(const Members& members);
    [[nodiscard]] bool closes_cycle() const;
    std::optional<std::string> see_grant(const core::Event& event);
    std::optional<std::string> see_end(const core::Event& event);
    [[nodiscard]] std::optional<std::string> find_rival_hold(const core::Event& event) const;
    [[nodiscard]] std::optional<std::string> find_passed_over(const core::Event& event,
                                                              std::size_t ahead) const;
    [[nodiscard]] std::optional<std::size_t> find_hold(core::Fence fence) const;
    [[nodiscard]] std::optional<std::size_t> find_wait(core::WaiterId id) const;
    [[nodiscard]] std::size_t count_waits(const core::Scope& scope) const;

    std::vector<Hold> holds_;
    std::vector<Wait> waits_;  // in the order in which they came
    std::uint64_t last_fence_ = 0;
    core::Time last_time_{};
    // The lease whose grace has just ended. Its owner is the only one that may pass the queue.
    std::optional<Hold> back_from_grace_;
    bool is_deadlock_due_ = false;  // the next event must tell of one
};

}  // namespace holdfast::model
