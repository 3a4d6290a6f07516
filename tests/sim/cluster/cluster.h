#pragma once

// Cluster: three nodes on a simulated etcd, each with the real service and the real ClusterStore.
//
// A connection comes in at one node, its entry. The entry serves it if it leads. Otherwise it passes
// the connection on to the leader that it knows of, for that leader's epoch:
//
//   what happens                           what follows
//   nobody is known to lead                the entry answers "not now"
//   the leader does not serve this epoch   the connection is closed
//   the client hangs up                    the leader is told, and ends the session
//   the entry dies, or the connection      the leader keeps the client's leases for their TTL, and
//   between the nodes                      the client's connection dies
//   the leader steps down                  everybody who waits is told, and its connections are
//                                          closed; those between nodes a while later
//
// Besides what the checkers look at, no node may believe that it leads when etcd has another leader
// or none, and no answer may be given but in the epoch of its connection.
//
// A leader may be usurped. etcd breaks its word and ends a lease that lives; somebody removes the key
// and leaves the lease; or a new epoch begins at another node, because the leader was not reached.
// Nothing tells such a leader at once, so it may believe that it leads: for the TTL of its lease if it
// does not reach etcd, and for one renewal and its confirmation if it does. What it answers from
// memory meanwhile is not guaranteed (docs/cluster.md), and no client here gets it. Everything else
// is checked as ever: what such a leader writes has no effect.
//
// A leader that begins a new epoch itself is not usurped: it may not answer anything after.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "sim/checker/checker.h"
#include "sim/cluster/cluster_settings.h"
#include "sim/cluster/etcd_history.h"
#include "sim/cluster/node_store.h"
#include "sim/etcd/simulated_etcd.h"
#include "sim/machine.h"
#include "sim/server.h"
#include "sim/system.h"

namespace holdfast::sim {

class Cluster final : public System {
  public:
    static constexpr std::size_t node_count = 3;

    explicit Cluster(Surroundings around);

    void start() override;
    void receive(const Call& call) override;
    void hang_up(ConnectionId connection) override;
    void arrange_faults(const Every& every) override;
    void heal() override;
    void look() override;
    void check_empty() override;
    // Each node in turn must lead while the others are dead.
    [[nodiscard]] bool begin_trial(std::size_t number) override;
    [[nodiscard]] bool has_passed_trial() const override;
    [[nodiscard]] core::Duration recovery_time_max() const override;

  private:
    struct Node {
        Node(Cluster& cluster, std::size_t index);

        const std::size_t index;
        const std::string name;
        Machine machine;
        Checker checker;
        EtcdLine line;
        NodeStore* store = nullptr;  // of the process that runs
        // When etcd lost the key by which this node led, though the lease of the key had not run out, or
        // a new epoch began beside it.
        std::optional<Moment> usurped_at;
        Server server;
    };
    // Where a connection goes.
    struct Route {
        std::size_t entry = 0;
        std::optional<std::size_t> leader;  // once it is passed on, or served
        std::uint64_t epoch = 0;            // for which it is
        bool is_relay_lost = false;
        bool is_hung_up = false;       // the client has gone; the entry may not know it yet
        Moment last_call, last_reply;  // nothing arrives before these
    };

    [[nodiscard]] Server::Parts make_server_parts(Node& node);
    [[nodiscard]] std::unique_ptr<service::Store> make_store(Node& node, const StoreHooks& hooks);
    void arrange_etcd_faults(const Every& every);
    void arrange_usurpations(const Every& every);
    void usurp(const std::function<void(const etcd::KeyValue& key)>& take);
    void begin_epoch();
    void mark_usurped_by_epoch(const cluster::Leader& leader);
    [[nodiscard]] core::Duration usurped_max() const;
    void stop_in_takeover(Node& node);
    void for_a_while(core::Duration mean, std::function<void()> end);
    Node& any_node() { return *nodes_[around_.world.random().below(node_count)]; }
    Node& leader_or_any();
    [[nodiscard]] Node* find_node(std::string_view name);

    // cluster_relay.cc
    Route& route_of(ConnectionId connection);
    [[nodiscard]] bool admits(Node& node, const Call& call);
    [[nodiscard]] bool bind(Node& entry, Route& route);
    void pass_on(const Call& call, Route& route);
    void send_back(Node& node, ConnectionId connection, const Reply& reply);
    void finish_hang_up(ConnectionId connection);
    void lose_relay(ConnectionId connection);
    void cut_connections_of(const Node& node);
    void cut_served_by(const Node& node);
    void lose_relay_later(ConnectionId connection);
    void check_epoch(const cluster::Picture& picture);
    void cut_hop();
    void on_role_changed(Node& node, const cluster::Picture& picture);
    void check_authority();
    void check_usurped() const;
    void check_history();
    void check_right(const Node& node, const Submission& submission);
    [[nodiscard]] std::optional<etcd::KeyValue> find_in_etcd(const std::string& key) const;
    [[nodiscard]] std::string value_in_etcd(const std::string& key) const;
    [[nodiscard]] bool believes_to_lead(const Node& node) const;

    const Surroundings around_;
    const ClusterSettings settings_;
    EtcdFaults etcd_faults_;  // as they are now
    const cluster::Keys keys_;
    SimulatedEtcd etcd_;
    EtcdHistory history_;
    std::array<std::unique_ptr<Node>, node_count> nodes_;
    std::map<ConnectionId, Route> routes_;
    std::uint64_t last_epoch_ = 0;
    etcd::Revision looked_at_ = 0;  // of etcd, when the authority of nodes was looked at
    bool is_healed_ = false;
    std::size_t tried_ = 0;  // the node of the trial
};

}  // namespace holdfast::sim
