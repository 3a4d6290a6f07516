#include "core/deadlock_search.h"

#include <algorithm>
#include <utility>

namespace holdfast::core {

std::vector<CycleMember> LockTable::DeadlockSearch::find(const AcquireRequest& request,
                                                         const Asked* asked, std::size_t count,
                                                         Slot identity) {
    request_ = &request;
    asked_ = asked;
    asked_count_ = count;
    nodes_.push_back({.waiter = no_slot, .identity = identity});
    // This request may entangle its client, whose other waiters are then all in one queue.
    const Identity& client = table_.identities_[identity];
    const Slot first = client.waiters.first;
    if (!client.is_entangled && first != no_slot) {
        const Slot queue = table_.waiters_[first].resource;
        if (count > 1 || asked[0].resource != queue) entangled_queue_ = queue;
    }
    for (NodeIndex node = 0; node < nodes_.size(); ++node) {
        if (!expand(node)) return {};
    }
    take_away_free();
    if (nodes_[0].is_free) return {};
    steps_left_ = table_.limits_.deadlock_steps_max;
    return way_back(0).members;
}

// One graph for all. What one suspect leads to is collected before the next one is looked at. So if
// the search is cut, what was collected is whole but for its last part; and a waiter that was not
// looked at counts as free, so that no cycle is told that is none.
std::vector<LockTable::DeadlockSearch::Found> LockTable::DeadlockSearch::find_all(
    std::size_t limit) {
    NodeIndex expanded = 0;
    for (Slot suspect = table_.suspects_.first; suspect != no_slot && !is_cut_;
         suspect = table_.identities_[suspect].next_suspect) {
        for (Slot waiter = table_.identities_[suspect].waiters.first; waiter != no_slot && step();
             waiter = table_.waiters_[waiter].identity_next) {
            static_cast<void>(node_of(waiter));
        }
        while (expanded < nodes_.size() && expand(expanded)) ++expanded;
    }
    take_away_free();
    take_away_outside();
    steps_left_ = table_.limits_.deadlock_steps_max;
    std::vector<Found> all;
    for (NodeIndex node = 0; node < nodes_.size() && all.size() < limit; ++node) {
        if (nodes_[node].is_free || nodes_[node].is_outside || nodes_[node].is_told) continue;
        if (!step()) break;
        Found found = way_back(node);
        if (found.members.empty()) continue;
        for (const Slot waiter : found.waiters) nodes_[by_waiter_[waiter]].is_told = true;
        all.push_back(std::move(found));
    }
    return all;
}

// False if the search has become too long.
bool LockTable::DeadlockSearch::step() {
    if (steps_left_ == 0) {
        is_cut_ = true;
        return false;
    }
    --steps_left_;
    ++table_.visited_;
    return true;
}

LockTable::DeadlockSearch::NodeIndex LockTable::DeadlockSearch::node_of(Slot waiter) {
    const auto [found, is_new] =
        by_waiter_.try_emplace(waiter, static_cast<NodeIndex>(nodes_.size()));
    if (is_new) {
        nodes_.push_back({.waiter = waiter, .identity = table_.waiters_[waiter].identity});
    }
    return found->second;
}

void LockTable::DeadlockSearch::add_edge(Edge edge) {
    const auto number = static_cast<std::uint32_t>(edges_.size());
    edge.next_out = std::exchange(nodes_[edge.from].first_out, number);
    edge.next_in = std::exchange(nodes_[edge.to].first_in, number);
    if (edge.holder == none) ++nodes_[edge.from].reasons;
    edges_.push_back(edge);
}

bool LockTable::DeadlockSearch::expand(NodeIndex node) {
    const Slot waiter = nodes_[node].waiter;
    if (waiter == no_slot) {
        for (std::size_t index = 0; index < asked_count_; ++index) {
            const auto& [member, resource, is_free] = asked_[index];
            if (is_free) continue;
            if (!expand({.node = node,
                         .name = static_cast<std::uint32_t>(index),
                         .resource = resource,
                         .mode = member.mode,
                         .range = member.scope.range,
                         .ahead = table_.resources_[resource].waiters.last})) {
                return false;
            }
        }
        return true;
    }
    if (!expand_record(node, waiter)) return false;
    if (!table_.waiters_[waiter].is_set) return true;
    const auto& others = table_.waiters_[waiter].notes.others();
    return std::all_of(others.begin(), others.end(),
                       [&](Slot other) { return expand_record(node, other); });
}

bool LockTable::DeadlockSearch::expand_record(NodeIndex node, Slot slot) {
    const Waiter& record = table_.waiters_[slot];
    if (record.is_in_turn) return step();
    Place place{.node = node,
                .name = slot,
                .resource = record.resource,
                .mode = record.mode,
                .ahead = record.previous,
                .serial = record.id.serial};
    if (record.range_item != no_slot) place.range = table_.ranges_[record.range_item].range;
    return expand(place);
}

bool LockTable::DeadlockSearch::expand(const Place& place) {
    switch (table_.resources_[place.resource].kind) {
        case ResourceKind::inode: return expand_ranges(place);
        case ResourceKind::semaphore: return expand_semaphore(place);
        case ResourceKind::named:
        case ResourceKind::path: break;
    }
    return expand_line(place);
}

// Waiters that are not entangled are passed over. If one of them is exclusive, whatever it waits
// for is in the way of this one, too. An exclusive waiter that is entangled stands for all that are
// before it.
bool LockTable::DeadlockSearch::expand_line(const Place& place) {
    const Resource& resource = table_.resources_[place.resource];
    Mode mode = place.mode;
    if (!has_entangled(place.resource)) {
        // The first waiter waits for the holders, and so do all behind it.
        if (place.ahead != no_slot) mode = Mode::exclusive;
    } else {
        for (Slot slot = place.ahead; slot != no_slot; slot = table_.waiters_[slot].previous) {
            if (!step()) return false;
            const Waiter& record = table_.waiters_[slot];
            if (!is_entangled(slot)) {
                if (record.mode == Mode::exclusive) mode = Mode::exclusive;
                continue;
            }
            add_edge_to_waiter(place, slot);
            const bool is_excluded = conflicts(record.mode, mode);
            if (is_excluded && !add_edges_to_client(place, {.waiter = slot})) return false;
            if (record.mode == Mode::exclusive) return true;
        }
    }
    for (Slot slot = resource.holders.first; slot != no_slot; slot = table_.leases_[slot].next) {
        if (!step()) return false;
        if (!conflicts(table_.leases_[slot].mode, mode)) continue;
        if (!add_edges_to_client(place, {.lease = slot})) return false;
    }
    return true;
}

// Whether the queue has entangled waiters.
bool LockTable::DeadlockSearch::has_entangled(Slot resource) const {
    return table_.resources_[resource].entangled_count > 0 || resource == entangled_queue_;
}

bool LockTable::DeadlockSearch::is_entangled(Slot waiter) const {
    const Waiter& leader = table_.waiters_[table_.waiters_[waiter].id.slot];
    const Slot identity = leader.identity;
    if (leader.is_set || table_.identities_[identity].is_entangled) return true;
    return entangled_queue_ != no_slot && identity == nodes_[0].identity;
}

// The nearest entangled waiter stands for all that are before it.
bool LockTable::DeadlockSearch::expand_semaphore(const Place& place) {
    for (Slot slot = has_entangled(place.resource) ? place.ahead : no_slot; slot != no_slot;
         slot = table_.waiters_[slot].previous) {
        if (!step()) return false;
        if (!is_entangled(slot)) continue;
        add_edge_to_waiter(place, slot);
        break;
    }
    return expand_permits(place);
}

bool LockTable::DeadlockSearch::expand_ranges(const Place& place) {
    const Resource& resource = table_.resources_[place.resource];
    const auto is_in_the_way = [&](const Claim& record) {
        return conflicts(record.mode, place.mode) &&
               table_.ranges_[record.range_item].range.overlaps(place.range);
    };
    for (Slot slot = resource.holders.first; slot != no_slot; slot = table_.leases_[slot].next) {
        if (!step()) return false;
        if (!is_in_the_way(table_.leases_[slot])) continue;
        if (!add_edges_to_client(place, {.lease = slot})) return false;
    }
    for (Slot slot = resource.waiters.first;
         slot != no_slot && table_.waiters_[slot].id.serial < place.serial;
         slot = table_.waiters_[slot].next) {
        if (!step()) return false;
        if (!is_in_the_way(table_.waiters_[slot])) continue;
        add_edge_to_waiter(place, slot);
        if (!add_edges_to_client(place, {.waiter = slot})) return false;
    }
    return true;
}

// A semaphore without a free permit.
bool LockTable::DeadlockSearch::expand_permits(const Place& place) {
    const Resource& resource = table_.resources_[place.resource];
    if (resource.holder_count < resource.limit) return true;
    // First a look whether all holders wait at all.
    for (Slot slot = resource.holders.first; slot != no_slot; slot = table_.leases_[slot].next) {
        if (!step()) return false;
        const Lease& lease = table_.leases_[table_.lead(slot)];
        if (!table_.is_live(lease)) return true;
        const Slot identity = table_.find_identity(table_.identity_key(lease));
        if (identity == no_slot) return true;
        const bool is_waiting = table_.identities_[identity].waiters.first != no_slot;
        if (!is_waiting && identity != nodes_[0].identity) return true;
    }
    const auto number = static_cast<std::uint32_t>(permits_.size());
    permits_.push_back({.node = place.node});
    ++nodes_[place.node].reasons;
    for (Slot slot = resource.holders.first; slot != no_slot; slot = table_.leases_[slot].next) {
        const auto holder = static_cast<std::uint32_t>(permit_holders_.size());
        permit_holders_.push_back({.permits = number});
        const std::size_t edges = edges_.size();
        if (!add_edges_to_client(place, {.lease = slot, .holder = holder})) {
            break_permits(number);  // not all holders are known
            return false;
        }
        permit_holders_[holder].edges = static_cast<std::uint32_t>(edges_.size() - edges);
        if (permit_holders_[holder].edges == 0) break_permits(number);
    }
    return true;
}

// `place` is stuck if the earlier waiter is never granted.
void LockTable::DeadlockSearch::add_edge_to_waiter(const Place& place, Slot slot) {
    const NodeIndex to = node_of(table_.waiters_[slot].id.slot);
    add_edge({.from = place.node, .to = to, .place = place.name, .waiter = slot});
}

// `place` is stuck if the client of a holder or an earlier waiter never ends its leases.
bool LockTable::DeadlockSearch::add_edges_to_client(const Place& place, Edge edge) {
    const bool is_lease = edge.lease != no_slot;
    if (is_lease && !table_.is_live(table_.leases_[table_.lead(edge.lease)])) return true;
    const Claim& record = is_lease ? static_cast<const Claim&>(table_.leases_[edge.lease])
                                   : table_.waiters_[edge.waiter];
    const Slot identity =
        is_lease
            ? table_.find_identity(table_.identity_key(table_.leases_[table_.lead(edge.lease)]))
            : table_.waiters_[table_.waiters_[edge.waiter].id.slot].identity;
    if (identity == no_slot || table_.identities_[identity].is_crowd) return true;
    edge.from = place.node;
    edge.place = place.name;
    if (identity == nodes_[0].identity && request_ != nullptr && !asks_again(record)) {
        edge.to = 0;
        add_edge(edge);
    }
    const Identity& client = table_.identities_[identity];
    const Slot last = client.waiters.last;
    const bool is_in_one_line =
        last != no_slot && !client.is_entangled && table_.waiters_[last].range_item == no_slot;
    if (is_in_one_line) {
        // If any of its waiters is stuck, the last one is.
        if (!step()) return false;
        if (waits_again(last, record)) return true;
        edge.to = node_of(last);
        add_edge(edge);
        return true;
    }
    for (Slot waiter = client.waiters.first; waiter != no_slot;
         waiter = table_.waiters_[waiter].identity_next) {
        if (!step()) return false;
        if (waits_again(waiter, record)) continue;
        edge.to = node_of(waiter);
        add_edge(edge);
    }
    return true;
}

// Whether both are about the same lock, or the same part of an inode.
bool LockTable::DeadlockSearch::is_same_place(const Claim& record, Slot resource,
                                              const Range& range) const {
    if (record.resource != resource) return false;
    return record.range_item == no_slot || table_.ranges_[record.range_item].range.overlaps(range);
}

// Whether the request asks for something that its client has, or stands for, by this record.
bool LockTable::DeadlockSearch::asks_again(const Claim& record) const {
    return std::any_of(asked_, asked_ + asked_count_, [&](const Asked& one) {
        return is_same_place(record, one.resource, one.member.scope.range);
    });
}

// The same for a waiter.
bool LockTable::DeadlockSearch::waits_again(Slot waiter, const Claim& record) const {
    const auto is_at = [&](Slot slot) {
        const Waiter& one = table_.waiters_[slot];
        const Range range =
            one.range_item == no_slot ? Range{} : table_.ranges_[one.range_item].range;
        return is_same_place(record, one.resource, range);
    };
    if (is_at(waiter)) return true;
    if (!table_.waiters_[waiter].is_set) return false;
    const auto& others = table_.waiters_[waiter].notes.others();
    return std::any_of(others.begin(), others.end(), is_at);
}

void LockTable::DeadlockSearch::break_permits(std::uint32_t number) {
    Permits& permits = permits_[number];
    if (std::exchange(permits.is_broken, true)) return;
    --nodes_[permits.node].reasons;
}

void LockTable::DeadlockSearch::take_away_free() {
    std::vector<NodeIndex> free;
    const auto look_at = [&](NodeIndex node) {
        if (nodes_[node].reasons > 0 || std::exchange(nodes_[node].is_free, true)) return;
        free.push_back(node);
    };
    for (NodeIndex node = 0; node < nodes_.size(); ++node) look_at(node);
    while (!free.empty()) {
        const NodeIndex gone = free.back();
        free.pop_back();
        for (std::uint32_t number = nodes_[gone].first_in; number != none;
             number = edges_[number].next_in) {
            const Edge& edge = edges_[number];
            if (edge.holder == none) {
                --nodes_[edge.from].reasons;
            } else if (--permit_holders_[edge.holder].edges == 0) {
                break_permits(permit_holders_[edge.holder].permits);
            }
            look_at(edge.from);
        }
    }
}

// Takes away whatever no stuck waiter waits for, and what only such waiters wait for.
void LockTable::DeadlockSearch::take_away_outside() {
    std::vector<std::uint32_t> wanted_by(nodes_.size(), 0);
    std::vector<NodeIndex> outside;
    for (const Edge& edge : edges_) {
        if (!nodes_[edge.from].is_free && is_reason(edge)) ++wanted_by[edge.to];
    }
    const auto look_at = [&](NodeIndex node) {
        if (wanted_by[node] > 0 || std::exchange(nodes_[node].is_outside, true)) return;
        outside.push_back(node);
    };
    for (NodeIndex node = 0; node < nodes_.size(); ++node) {
        if (!nodes_[node].is_free) look_at(node);
    }
    while (!outside.empty()) {
        const NodeIndex gone = outside.back();
        outside.pop_back();
        for (std::uint32_t number = nodes_[gone].first_out; number != none;
             number = edges_[number].next_out) {
            if (!is_reason(edges_[number])) continue;
            --wanted_by[edges_[number].to];
            look_at(edges_[number].to);
        }
    }
}

bool LockTable::DeadlockSearch::is_reason(const Edge& edge) const {
    if (nodes_[edge.to].is_free) return false;
    return edge.holder == none || !permits_[permit_holders_[edge.holder].permits].is_broken;
}

// Whether the edge leads to an earlier waiter whose client waits for nothing but this place. Such a
// client only passes on what others do to it: it is not part of a cycle by that.
bool LockTable::DeadlockSearch::is_passed_over(const Edge& edge) const {
    if (edge.waiter == no_slot) return false;
    const Slot slot = table_.waiters_[edge.waiter].id.slot;
    const Waiter& waiter = table_.waiters_[slot];
    if (nodes_[edge.to].waiter != slot || waiter.is_set) return false;
    // A crowd is many clients, each of which waits for this place alone.
    if (table_.identities_[waiter.identity].is_crowd) return true;
    for (Slot other = table_.identities_[waiter.identity].waiters.first; other != no_slot;
         other = table_.waiters_[other].identity_next) {
        if (table_.waiters_[other].is_set || !waits_again(other, waiter)) return false;
    }
    if (request_ == nullptr || waiter.identity != nodes_[0].identity) return true;
    return asked_count_ == 1 && asks_again(waiter);
}

// The shortest way from a node back to it by way of another client; empty if there is none. A step
// of the way is a node, and whether another client was met before: so there are two steps for each
// node.
LockTable::DeadlockSearch::Found LockTable::DeadlockSearch::way_back(NodeIndex start) {
    struct Step {
        std::uint32_t edge = none;  // by which it was reached
        bool was_with_other = false;
    };
    const std::uint32_t begin = 2 * start, goal = begin + 1;
    boost::unordered_flat_map<std::uint32_t, Step> steps;
    std::vector<std::uint32_t> reached{begin};
    for (std::size_t index = 0; index < reached.size() && !steps.contains(goal); ++index) {
        const bool is_with_other = reached[index] % 2 != 0;
        for (std::uint32_t number = nodes_[reached[index] / 2].first_out; number != none;
             number = edges_[number].next_out) {
            if (!step()) return {};
            const Edge& edge = edges_[number];
            if (!is_reason(edge) || nodes_[edge.to].is_outside) continue;
            const bool is_passing = is_passed_over(edge);
            const bool is_other = !is_passing && nodes_[edge.to].identity != nodes_[start].identity;
            const std::uint32_t next = 2 * edge.to + (is_with_other || is_other ? 1 : 0);
            if (next == begin || (edge.to == start && is_passing)) continue;
            const auto [at, is_new] =
                steps.try_emplace(next, Step{.edge = number, .was_with_other = is_with_other});
            if (is_new) reached.push_back(next);
        }
    }
    Found found;
    for (std::uint32_t at = goal; at != begin;) {
        const auto step = steps.find(at);
        if (step == steps.end()) return {};
        const Edge& edge = edges_[step->second.edge];
        found.members.push_back(describe(edge));
        found.waiters.push_back(nodes_[edge.from].waiter);
        at = 2 * edge.from + (step->second.was_with_other ? 1 : 0);
    }
    std::reverse(found.members.begin(), found.members.end());
    return found;
}

CycleMember LockTable::DeadlockSearch::describe(const Edge& edge) const {
    CycleMember member;
    const Slot slot = nodes_[edge.from].waiter;
    if (slot == no_slot) {
        member.owner = request_->owner;
        member.waiter = request_->notes.waiter;
        member.waits_for = asked_[edge.place].member.scope;
    } else {
        const Waiter& waiter = table_.waiters_[slot];
        member.owner = {.door = waiter.door, .name = waiter.owner};
        member.waiter = waiter.notes.view().waiter;
        member.waits_for = table_.scope_of(table_.waiters_[edge.place]);
    }
    if (edge.lease != no_slot) {
        const Lease& lease = table_.leases_[table_.lead(edge.lease)];
        member.held_by = {.door = lease.door, .name = lease.owner};
        member.fence = lease.token.fence;
    } else {
        const Waiter& ahead = table_.waiters_[table_.waiters_[edge.waiter].id.slot];
        member.held_by = {.door = ahead.door, .name = ahead.owner};
    }
    return member;
}

}  // namespace holdfast::core
