#pragma once

// OpenRequests: the requests that are with the server, and whether a client still waits for them.
//
// A grant must go to a request that is open: not abandoned, not answered, not out of time, its
// session not ended. A request whose time is over must be answered soon. And no lease is held that
// no client was told of. Each request carries its number as metadata, so the events of the service,
// which come after the commit, say which request they belong to.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/values/changes.h"
#include "sim/checker/ledger.h"
#include "sim/message.h"
#include "sim/world.h"

namespace holdfast::sim {

// The submission whose number these notes bear; 0: unknown.
[[nodiscard]] std::uint64_t submission_of(const core::Notes& notes);

class OpenRequests {
  public:
    OpenRequests(World& world, const Ledger& ledger) : world_(world), ledger_(ledger) {}

    void on_submitted(const Submission& submission);
    void on_answered(const Submission& submission, const Reply& reply);
    // The same, but the client is not told.
    void on_withheld(const Submission& submission, const Reply& reply);
    // Nobody waits for it any more.
    void on_abandoned(std::uint64_t submission);
    // `at` is when the event happened.
    void on_event(const core::Event& event, Moment at);
    // The server has forgotten everybody.
    void clear();

    // When all events are known: whose time is over has been told, and nothing is held in secret.
    void check(core::Duration lateness_max) const;

    [[nodiscard]] std::size_t waiting() const { return open_.size(); }

  private:
    struct Entry {
        Submission submission;
        core::AcquireRequest request;
        Moment deadline;
        bool is_ticket = false;  // the first half of a two-phase request
        bool is_queued = false;
        bool may_hold_in_secret = false;
        Moment closed_at{Moment::max()};
    };

    void add(const Submission& submission, const core::AcquireRequest& request, Moment deadline);
    void on_waiting(const Submission& submission, const service::Wait& wait);
    void on_session_end(const service::EndSession& end);
    void on_granted(const core::Event& event, Moment at);
    void close(std::uint64_t id);
    [[nodiscard]] std::uint64_t find_ticket(core::SessionId session,
                                            const core::Scope& scope) const;
    [[nodiscard]] std::uint64_t entry_of(std::uint64_t submission) const;
    [[nodiscard]] const Entry* find_entry(std::uint64_t id) const;
    [[nodiscard]] bool is_awaited(const Entry& entry, Moment at) const;

    World& world_;
    const Ledger& ledger_;
    std::map<std::uint64_t, Entry> open_, closed_;   // by submission
    std::map<std::uint64_t, std::uint64_t> halves_;  // second halves, and their first
    // As the events say: whose request a lease was granted to, and how often it was renewed.
    struct Granted {
        std::uint64_t submission = 0;
        std::size_t renewals = 0;
    };
    std::map<core::Fence, Granted> leases_;
    std::set<std::uint64_t> open_sessions_;
};

}  // namespace holdfast::sim
