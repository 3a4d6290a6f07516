// How connections find the leader, and what becomes of them.

#include <algorithm>
#include <utility>
#include <vector>

#include "cluster/records/records.h"
#include "sim/cluster/cluster.h"

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

// A message needs so long from one node to another, and overtakes no other of its connection.
Moment hop_arrival(World& world, Moment& last) {
    last = std::max(world.now() + world.random().between(50us, 2ms), last + 1us);
    return last;
}

}  // namespace

Cluster::Route& Cluster::route_of(ConnectionId connection) {
    const auto [found, is_new] = routes_.try_emplace(connection);
    if (is_new) {
        found->second.entry = around_.world.random().below(node_count);
        found->second.last_call = found->second.last_reply = around_.world.now();
    }
    return found->second;
}

void Cluster::receive(const Call& call) {
    nodes_[route_of(call.connection).entry]->server.receive(call);
}

// At the entry, and once more at the leader if that is another node.
bool Cluster::admits(Node& node, const Call& call) {
    const auto found = routes_.find(call.connection);
    if (found == routes_.end()) return false;
    Route& route = found->second;
    if (!route.leader && !bind(node, route)) {
        around_.world.note("node {}: c{}/{} not now", node.name, call.client, call.number);
        around_.network.reply(call.connection, {.call = call.number, .is_failure = true});
        return false;
    }
    if (*route.leader != node.index) {
        pass_on(call, route);
        return false;
    }
    if (node.store->view().picture()->serves(route.epoch)) return true;
    lose_relay(call.connection);
    return false;
}

// Decides where the connection goes. False: nobody is known to lead.
bool Cluster::bind(Node& entry, Route& route) {
    const auto picture = entry.store->view().picture();
    if (!picture->is_served()) return false;
    const Node* const leader = find_node(picture->leader.name);
    if (leader == &entry && !picture->is_leading()) return false;
    route.leader = leader->index;
    route.epoch = picture->leader.epoch;
    return true;
}

void Cluster::pass_on(const Call& call, Route& route) {
    around_.world.at(hop_arrival(around_.world, route.last_call), [this, call] {
        const auto found = routes_.find(call.connection);
        if (found == routes_.end() || found->second.is_relay_lost) return;
        nodes_[*found->second.leader]->server.receive(call);
    });
}

void Cluster::send_back(Node& node, ConnectionId connection, const Reply& reply) {
    const auto found = routes_.find(connection);
    if (found == routes_.end() || found->second.is_relay_lost) return;
    Route& route = found->second;
    if (route.entry == node.index) return around_.network.reply(connection, reply);
    around_.world.at(hop_arrival(around_.world, route.last_reply),
                     [this, connection, reply, entry = route.entry] {
                         nodes_[entry]->server.do_in_turn([this, connection, reply] {
                             around_.network.reply(connection, reply);
                         });
                     });
}

// The client has gone. The entry notices when it has seen to what came before.
void Cluster::hang_up(ConnectionId connection) {
    const auto found = routes_.find(connection);
    if (found == routes_.end()) return;
    found->second.is_hung_up = true;
    Server& entry = nodes_[found->second.entry]->server;
    if (!entry.is_running()) return finish_hang_up(connection);
    entry.do_in_turn([this, connection] { finish_hang_up(connection); });
}

// The leader is told that the client has gone; or it is not, because the way to it is lost.
void Cluster::finish_hang_up(ConnectionId connection) {
    const auto found = routes_.find(connection);
    if (found == routes_.end()) return;
    const Route route = found->second;
    routes_.erase(found);
    if (!route.leader) return;
    const auto gone = route.is_relay_lost ? Server::Gone::relay : Server::Gone::client;
    Server& leader = nodes_[*route.leader]->server;
    if (route.entry == *route.leader) {
        return around_.world.next(
            [&leader, connection] { leader.hang_up(connection, Server::Gone::client); });
    }
    Moment last_call = route.last_call;
    around_.world.at(hop_arrival(around_.world, last_call),
                     [&leader, connection, gone] { leader.hang_up(connection, gone); });
}

// What is between the client and the leader dies; the client finds out.
void Cluster::lose_relay(ConnectionId connection) {
    const auto found = routes_.find(connection);
    if (found != routes_.end()) found->second.is_relay_lost = true;
    around_.network.cut(connection);
}

// The node has died.
void Cluster::cut_connections_of(const Node& node) {
    std::vector<ConnectionId> lost;
    for (const auto& [connection, route] : routes_) {
        if (route.entry == node.index || route.leader == node.index) lost.push_back(connection);
    }
    for (const ConnectionId connection : lost) {
        lose_relay(connection);
        const Route& route = routes_.at(connection);
        if (route.is_hung_up && route.entry == node.index) finish_hang_up(connection);
    }
}

// The node does not lead any more. Until a connection between two nodes is closed at both ends, the
// entry may still pass something on.
void Cluster::cut_served_by(const Node& node) {
    std::vector<ConnectionId> direct, relayed;
    for (const auto& [connection, route] : routes_) {
        if (route.leader != node.index) continue;
        (route.entry == node.index ? direct : relayed).push_back(connection);
    }
    for (const ConnectionId connection : direct) lose_relay(connection);
    for (const ConnectionId connection : relayed) lose_relay_later(connection);
}

void Cluster::lose_relay_later(ConnectionId connection) {
    const core::Duration delay = around_.world.random().about(core::Duration{settings_.ttl} / 2);
    around_.world.after(delay, [this, connection] {
        if (routes_.contains(connection)) lose_relay(connection);
    });
}

void Cluster::cut_hop() {
    std::vector<ConnectionId> relayed;
    for (const auto& [connection, route] : routes_) {
        if (route.leader && route.leader != route.entry) relayed.push_back(connection);
    }
    if (!relayed.empty()) lose_relay(around_.world.random().pick(relayed));
}

void Cluster::on_role_changed(Node& node, const cluster::Picture& picture) {
    around_.world.note("node {}: {}, sees '{}' of epoch {}", node.name,
                       cluster::to_text(picture.role), picture.leader.name, picture.leader.epoch);
    if (picture.is_leading()) {
        // It has made its first commit, and has lost its key or its epoch before it heard of it.
        const auto leader = cluster::parse_leader(value_in_etcd(keys_.leader()));
        const bool has_key =
            leader && leader->name == node.name && leader->epoch == picture.leader.epoch;
        const bool has_epoch = value_in_etcd(keys_.epoch()) == std::to_string(picture.leader.epoch);
        if (node.usurped_at && !has_key) return;
        if (has_key && !has_epoch) {  // it finds out when it confirms its next renewal
            node.usurped_at = around_.world.now();
            return check_epoch(picture);
        }
        node.usurped_at.reset();
        check_history();
        return check_epoch(picture);
    }
    node.checker.on_store_failed();
    // What the node still has to say comes first.
    around_.world.after(1ms, [this, &node] {
        node.server.do_in_turn([this, &node] {
            if (node.server.role() == service::Role::serving) return;
            if (node.server.promises() > 0) {
                around_.world.accuse(
                    9, "somebody is not told that node " + node.name + " does not lead any more");
            }
            cut_served_by(node);
        });
    });
}

void Cluster::check_epoch(const cluster::Picture& picture) {
    if (picture.leader.epoch <= last_epoch_) {
        around_.world.accuse(11,
                             "two leaders have the epoch " + std::to_string(picture.leader.epoch));
    }
    last_epoch_ = std::max(last_epoch_, picture.leader.epoch);
}

std::optional<etcd::KeyValue> Cluster::find_in_etcd(const std::string& key) const {
    const auto answer = etcd_.keyspace().range({.key = key}, etcd_.keyspace().revision());
    if (!answer || answer->found.empty()) return std::nullopt;
    return answer->found.front();
}

std::string Cluster::value_in_etcd(const std::string& key) const {
    const auto found = find_in_etcd(key);
    return found ? found->value : "";
}

bool Cluster::believes_to_lead(const Node& node) const {
    if (!node.server.is_running()) return false;
    return node.machine.now() < node.store->authority_deadline();
}

// A node may answer from memory only as long as no other can lead.
void Cluster::check_authority() {
    looked_at_ = etcd_.keyspace().revision();
    const auto leader = cluster::parse_leader(value_in_etcd(keys_.leader()));
    if (leader) mark_usurped_by_epoch(*leader);
    for (const auto& node : nodes_) {
        if (!believes_to_lead(*node) || node->usurped_at) continue;
        if (leader && leader->name == node->name) continue;
        around_.world.accuse(11, "node " + node->name + " believes that it leads, and etcd has " +
                                     (leader ? "another leader" : "none"));
    }
}

// Nothing that was asked after it was usurped may have prolonged its authority.
void Cluster::check_usurped() const {
    for (const auto& node : nodes_) {
        if (!node->usurped_at || !believes_to_lead(*node)) continue;
        if (around_.world.now() < *node->usurped_at + usurped_max()) continue;
        around_.world.accuse(
            11, "node " + node->name + " believes that it leads, too long after it was usurped");
    }
}

// Whether the node had the right to this answer.
void Cluster::check_right(const Node& node, const Submission& submission) {
    World& world = around_.world;
    const auto leader = cluster::parse_leader(value_in_etcd(keys_.leader()));
    if (!leader || leader->name != node.name) {
        world.accuse(11, "node " + node.name + " answers, and does not lead any more");
        return;
    }
    if (std::to_string(leader->epoch) != value_in_etcd(keys_.epoch())) {
        world.accuse(11, "node " + node.name + " answers before its first commit");
    }
    const auto route = routes_.find(submission.call.connection);
    if (route == routes_.end() || !route->second.leader) return;
    if (route->second.epoch != leader->epoch) {
        world.accuse(11, "a connection of epoch " + std::to_string(route->second.epoch) +
                             " is served in epoch " + std::to_string(leader->epoch));
    }
}

}  // namespace holdfast::sim
