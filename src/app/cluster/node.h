#pragma once

// ClusterNode: this server's part in a cluster.
//
// It joins what the cluster is made of: the client of etcd, the store on it, the relay that passes
// connections on while another node leads, and the listener that receives such connections while
// this node leads. Whenever the leader changes, it tells both, and sends the clients of this node
// away, so that they connect again and reach the new leader.
//
// Thread safety: everything on the main loop, but for what says otherwise, for control(), whose functions may
// be called from any thread, and for divert(), whose result belongs to the servers of the doors.
// Lifetime: destroyed after the service, while no loop runs; close() before the servers of the doors.

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "app/cluster/cluster_handler.h"
#include "app/cluster/cluster_options.h"
#include "app/cluster/etcd_access.h"
#include "app/cluster/leader_finder.h"
#include "app/cluster/loop_timers.h"
#include "app/http/metrics_text.h"
#include "base/result.h"
#include "cluster/cluster_store.h"
#include "net/loop/server.h"
#include "net/tls/tls_trust.h"
#include "relay/peer_server.h"
#include "relay/relay.h"
#include "service/lock_service.h"

namespace holdfast::app {

class ClusterNode {
  public:
    // What other options of the server say.
    struct Surroundings {
        core::Duration history_age{0};
        bool is_insecure = false;
    };
    // Reads certificates and the password. Connects to nobody yet. `loop` and `clock` outlive it.
    [[nodiscard]] static base::Result<std::unique_ptr<ClusterNode>> open(
        const ClusterOptions& options, net::EventLoop& loop, const service::Clock& clock,
        Surroundings surroundings);
    ~ClusterNode();

    // Once. Destroyed before this.
    [[nodiscard]] std::unique_ptr<service::Store> take_store() { return std::move(owned_store_); }

    // What a door's server asks about new connections. `loops` are those of all doors.
    void open_relay(const std::vector<net::EventLoop*>& loops);
    [[nodiscard]] net::Divert divert(const std::string& door) { return relay_->divert(door); }

    // The servers of the doors whose connections are passed on, by name.
    using Doors = std::vector<std::pair<std::string, net::Server*>>;
    // Listens for the other nodes. REQUIRES: open_relay() was called.
    [[nodiscard]] base::Result<void> listen(const std::vector<net::EventLoop*>& loops, Doors doors);

    // Called on the main loop.
    struct Listeners {
        // It cannot be a part of the cluster.
        std::function<void(const std::string&)> on_failed;
        // It leads, and the service has recovered.
        std::function<void()> on_leading;
        // It leads no more, or is about to hand over. Also called if it did not lead.
        std::function<void()> on_not_leading;
    };
    // Joins the cluster: looks whether there is a real etcd, and lets the service recover whenever
    // this node may lead.
    void join(service::LockService& service, Listeners listeners);
    // The service was deposed.
    void on_deposed();

    // Reads the certificates of nodes and etcd, and the password of etcd, again; they hold for new connections.
    // Fails, and changes nothing, unless all files are good. From any thread.
    [[nodiscard]] base::Result<void> read_again();
    // When the certificates that this node shows end, by whom they are shown to. From any thread.
    [[nodiscard]] std::vector<CertificateFigures> count_certificates() const;

    // Hands over, and passes nothing on any more. `done` is called on the main loop.
    void leave(std::function<void()> done);
    // Ends all connections among nodes. While no loop runs.
    void close();

    [[nodiscard]] const ClusterControl& control() const { return control_; }

  private:
    ClusterNode(const ClusterOptions& options, net::EventLoop& loop, const service::Clock& clock,
                EtcdAccess etcd);

    [[nodiscard]] ClusterControl make_control();
    void probe();
    void recover();
    void on_recovered(const service::StoreResult<service::Recovered>& result);
    void look_at(const cluster::Picture& picture);
    void follow(const cluster::Leader& leader, const std::string& secret);
    void pass_on_to(const LeaderFinder::Addresses& addresses);
    [[nodiscard]] std::string why_not_passed_on() const;
    void send_clients_away();

    const ClusterOptions options_;
    net::EventLoop& loop_;
    const cluster::Keys keys_;
    LoopTimers timers_;
    net::LoopTimer probe_timer_;
    const std::unique_ptr<etcd::Client> etcd_;
    std::unique_ptr<cluster::ClusterStore> owned_store_;
    cluster::ClusterStore* store_ = nullptr;
    std::unique_ptr<net::TlsSource> peer_tls_;  // null: nodes do not use TLS
    mutable std::mutex trust_mutex_;
    std::shared_ptr<const net::TlsTrust> peer_trust_;  // null: nodes do not use TLS
    std::shared_ptr<const net::TlsTrust> etcd_trust_;  // null: etcd is reached without TLS
    std::unique_ptr<relay::Relay> relay_;
    std::unique_ptr<relay::PeerServer> peers_;
    Doors doors_;
    ClusterControl control_;

    service::LockService* service_ = nullptr;  // null: not joined
    Listeners listeners_;
    bool is_leaving_ = false;
    cluster::Leader followed_;  // the leader that the relay knows, or is being looked up
    std::string secret_;        // that the leader and this node share
    LeaderFinder finder_;
};

}  // namespace holdfast::app
