#pragma once

// Deadlocks: clients that wait for each other in a circle, for ever.
//
// Who takes locks one after the other can run into a deadlock: ann holds a and waits for b, bob
// holds b and waits for a. It comes into being when a request joins a queue. So that is the moment
// to look for it, and only if the client of the request is waited for (lock_table_identity.cc).
//
// The question is: which waiters can never be granted, as long as nobody gives up? A waiter is
// stuck if one of its scopes is stuck. A scope is stuck
//
//     exclusive, shared   if ANY holder in its way never ends its lease, or any earlier waiter in
//                         its way is never granted, or, once granted, never ends its lease
//     semaphore           if EVERY holder never ends its lease, because one permit is enough; or
//                         if an earlier waiter is never granted
//
// A client never ends its leases if one of its waits is stuck. A client that does not wait is free.
//
// The search collects the waiters that the request waits for, directly or by way of others, with an
// edge for each "is stuck if that one is". It then takes away all that are free, and all that
// become free because of that. If the request is among those that are left, and there is a way
// along the edges back to it, that way is the cycle. (If there is no way back, the request waits
// for a deadlock of others, which was told before.)
//
// A circle through one client alone is no deadlock. Which edges are left out:
//   - From a holder, or an earlier waiter, only those waits of its client are followed that are not
//     for the same lock (the same part of an inode). A client that asks again for what it has is
//     several threads, or made a mistake; others that stand between the two are not the reason. So
//     a cycle has at least two locks.
//   - A lease in grace ends by itself.
//
// In a queue, waiters that wait for nothing but that lock are passed over: they are stuck if its
// holders are, or if those are that wait for other locks as well (lock_table_identity.cc calls
// these entangled).

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "core/lock_table.h"

namespace holdfast::core {

class LockTable::DeadlockSearch {
  public:
    explicit DeadlockSearch(const LockTable& table)
        : table_(table), steps_left_(table.limits_.deadlock_steps_max) {}

    // The cycle that a request would close by joining these queues; empty if it closes none.
    // REQUIRES: the identity is that of the request.
    [[nodiscard]] std::vector<CycleMember> find(const AcquireRequest& request, const Asked* asked,
                                                std::size_t count, Slot identity);

    // A cycle, and the waiters of its members in the opposite order.
    struct Found {
        std::vector<CycleMember> members;
        std::vector<Slot> waiters;
    };
    // Cycles that exist now, at most `limit`. Each waiter of each cycle is in one of them.
    [[nodiscard]] std::vector<Found> find_all(std::size_t limit);

    // The search ended because it became too long. Everything that it has found is true.
    [[nodiscard]] bool is_cut() const { return is_cut_; }

  private:
    using NodeIndex = std::uint32_t;
    static constexpr std::uint32_t none = UINT32_MAX;

    // A waiter, or the request. Number 0 is the one that the search is for.
    struct Node {
        Slot waiter = no_slot;  // the leading record; no_slot: the request
        Slot identity = no_slot;
        std::uint32_t reasons = 0;  // why it is stuck, as far as is known: edges and permits
        bool is_free = false;
        bool is_outside = false;  // nobody who is stuck waits for it: it is in no cycle
        bool is_told = false;     // it is in a cycle that was found
        std::uint32_t first_out = none, first_in = none;  // edges
    };
    // `from` is stuck if `to` is. With `holder`: only if all holders of the semaphore are stuck.
    struct Edge {
        NodeIndex from = 0, to = 0;
        std::uint32_t place = 0;  // the scope: record of the waiter, or index of what is asked for
        Slot lease = no_slot;     // the holder in the way
        Slot waiter = no_slot;    // or the earlier waiter
        std::uint32_t holder = none;
        std::uint32_t next_out = none, next_in = none;  // of the same node
    };
    // One of the holders of a semaphore: stuck while it has edges to stuck nodes.
    struct PermitHolder {
        std::uint32_t permits = 0;
        std::uint32_t edges = 0;
    };
    // A semaphore that a node waits for: a reason to be stuck while all holders are.
    struct Permits {
        NodeIndex node = 0;
        bool is_broken = false;
    };
    // One scope of a node, and where it stands.
    struct Place {
        NodeIndex node = 0;
        std::uint32_t name = 0;  // Edge::place
        Slot resource = no_slot;
        Mode mode = Mode::exclusive;
        Range range;
        Slot ahead = no_slot;               // the waiter before it in the queue
        std::uint64_t serial = UINT64_MAX;  // its own
    };

    [[nodiscard]] bool step();
    [[nodiscard]] NodeIndex node_of(Slot waiter);
    void add_edge(Edge edge);

    // ---- Edges ----
    [[nodiscard]] bool expand(NodeIndex node);
    [[nodiscard]] bool expand_record(NodeIndex node, Slot slot);
    [[nodiscard]] bool expand(const Place& place);
    [[nodiscard]] bool expand_line(const Place& place);
    [[nodiscard]] bool has_entangled(Slot resource) const;
    [[nodiscard]] bool is_entangled(Slot waiter) const;
    [[nodiscard]] bool expand_semaphore(const Place& place);
    [[nodiscard]] bool expand_ranges(const Place& place);
    [[nodiscard]] bool expand_permits(const Place& place);
    void add_edge_to_waiter(const Place& place, Slot slot);
    [[nodiscard]] bool add_edges_to_client(const Place& place, Edge edge);
    [[nodiscard]] bool is_same_place(const Claim& record, Slot resource, const Range& range) const;
    [[nodiscard]] bool asks_again(const Claim& record) const;
    [[nodiscard]] bool waits_again(Slot waiter, const Claim& record) const;

    // ---- Who is free ----
    void break_permits(std::uint32_t number);
    void take_away_free();
    void take_away_outside();

    // ---- The cycle ----
    [[nodiscard]] bool is_reason(const Edge& edge) const;
    [[nodiscard]] bool is_passed_over(const Edge& edge) const;
    [[nodiscard]] Found way_back(NodeIndex start);
    [[nodiscard]] CycleMember describe(const Edge& edge) const;

    const LockTable& table_;
    std::size_t steps_left_;
    bool is_cut_ = false;
    const AcquireRequest* request_ = nullptr;  // node 0, if that is a request
    const Asked* asked_ = nullptr;
    std::size_t asked_count_ = 0;
    Slot entangled_queue_ = no_slot;  // whose waiters of the client are entangled by the request
    std::vector<Node> nodes_;
    std::vector<Edge> edges_;
    std::vector<Permits> permits_;
    std::vector<PermitHolder> permit_holders_;
    boost::unordered_flat_map<Slot, NodeIndex> by_waiter_;
};

}  // namespace holdfast::core
