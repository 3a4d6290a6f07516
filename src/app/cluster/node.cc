#include "app/cluster/node.h"

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstring>

#include "base/crypto.h"
#include "base/log/log.h"
#include "cluster/leading/new_epoch.h"
#include "etcd/probe.h"
#include "net/client/address_lookup.h"

namespace holdfast::app {

namespace {

constexpr std::chrono::seconds probe_timeout{2};
constexpr std::chrono::milliseconds lookup_timeout{2'000};
constexpr std::chrono::milliseconds peers_grace{250};

// Whether this second has not been used yet: so that strangers cannot fill the log. From any thread.
class OncePerSecond {
  public:
    [[nodiscard]] bool is_new() {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        const auto second = std::chrono::duration_cast<std::chrono::seconds>(now).count();
        return last_.exchange(second) != second;
    }

  private:
    std::atomic<std::int64_t> last_ = 0;
};

// HOST:PORT as a node advertises it.
struct HostPort {
    std::string host, port;
};

HostPort split(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    std::string host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    return {.host = std::move(host), .port = text.substr(colon + 1)};
}

net::Endpoint to_endpoint(const net::SocketAddress& address) {
    boost::asio::ip::tcp::endpoint endpoint;
    std::memcpy(endpoint.data(), address.data(), address.size);
    return endpoint;
}

// Waits for the name server: not on a loop.
base::Result<net::Endpoint> look_up(const HostPort& peer) {
    TRY(const auto lookup, net::AddressLookup::start(peer.host, peer.port));
    if (lookup->descriptor() >= 0) {
        pollfd waiting{.fd = lookup->descriptor(), .events = POLLIN, .revents = 0};
        if (::poll(&waiting, 1, static_cast<int>(lookup_timeout.count())) != 1) {
            return base::fail("the name server does not answer");
        }
    }
    TRY(const auto addresses, lookup->take());
    return to_endpoint(addresses.front());
}

}  // namespace

base::Result<std::unique_ptr<ClusterNode>> ClusterNode::open(const ClusterOptions& options,
                                                             net::EventLoop& loop,
                                                             const service::Clock& clock,
                                                             core::Duration history_age) {
    constexpr std::size_t history_bytes_max = std::size_t{4} << 20U;
    TRY(auto etcd, open_etcd(options, loop));
    std::unique_ptr<ClusterNode> node(new ClusterNode(options, loop, clock, std::move(etcd)));
    if (!options.peer_tls.certificate_file.empty()) {
        TRY(node->peer_tls_, net::TlsSource::open(options.peer_tls));
        TRY(node->peer_trust_, net::TlsTrust::load(options.peer_ca_file));
    }
    TRY(const auto peer, net::parse_endpoint(options.peer_address));
    node->owned_store_ = std::make_unique<cluster::ClusterStore>(
        cluster::ClusterOptions{.prefix = node->keys_.prefix(),
                                .node = node_name(options),
                                .peer = advertised_peer(options, peer),
                                .version = HOLDFAST_VERSION,
                                .ttl = std::chrono::ceil<std::chrono::seconds>(options.ttl),
                                .compacts = !options.leaves_history,
                                .quota_bytes = options.quota_bytes,
                                .history = {.age_max = history_age,
                                            .rows_max = options.history_rows_max,
                                            .bytes_max = history_bytes_max}},
        cluster::ClusterParts{.etcd = *node->etcd_,
                              .timers = node->timers_,
                              .clock = clock,
                              .random = base::RandomBits()});
    node->store_ = node->owned_store_.get();
    node->control_ = node->make_control();
    return node;
}

ClusterNode::ClusterNode(const ClusterOptions& options, net::EventLoop& loop,
                         const service::Clock& clock, EtcdAccess etcd)
    : options_(options),
      loop_(loop),
      clock_(clock),
      keys_(etcd.prefix),
      timers_(loop, clock),
      probe_timer_(loop, [this] { probe(); }),
      etcd_(std::move(etcd.client)),
      lookups_(std::make_unique<base::WorkPool>(1)) {}

ClusterNode::~ClusterNode() = default;

ClusterControl ClusterNode::make_control() {
    using Done = ClusterControl::Done;
    const auto resign = [this](Done done) {
        loop_.post([this, done = std::move(done)] {
            store_->resign([this, done](const base::Result<void>& result) {
                if (!result) return done(tl::unexpected(result.error()));
                done("node " + node_name(options_) + " has handed over");
            });
        });
    };
    const auto begin_epoch = [this](Done done) {
        loop_.post([this, done = std::move(done)] {
            cluster::raise_epoch(*etcd_, keys_, clock_.wall(clock_.now()),
                                 [done](const base::Result<std::uint64_t>& epoch) {
                                     if (!epoch) return done(tl::unexpected(epoch.error()));
                                     done("the epoch is now above " + std::to_string(*epoch) +
                                          ", and the next leader goes on from there");
                                 });
        });
    };
    return {.picture = [this] { return store_->view().picture(); },
            .resign = resign,
            .begin_epoch = begin_epoch,
            .count_relayed = [this] { return std::uint64_t{relay_->counts().open}; }};
}

void ClusterNode::open_relay(const std::vector<net::EventLoop*>& loops) {
    const auto on_failure = [](const std::string& reason) {
        base::log(base::LogLevel::debug, "a connection was not passed on", {{"reason", reason}});
    };
    relay_ = std::make_unique<relay::Relay>(
        loops, relay::RelayOptions{
                   .node = node_name(options_), .trust = peer_trust_, .on_failure = on_failure});
}

base::Result<void> ClusterNode::listen(const std::vector<net::EventLoop*>& loops, Doors doors) {
    TRY(const auto endpoint, net::parse_endpoint(options_.peer_address));
    const auto on_error = [](const base::Error& error) {
        base::log(base::LogLevel::warning, "the listener for other nodes has trouble",
                  {{"error", error.message}});
    };
    const auto seconds = std::make_shared<OncePerSecond>();
    const auto on_refused = [seconds](const relay::PeerRefusal& refusal) {
        if (!seconds->is_new()) return;
        base::log(base::LogLevel::warning, "another node was refused",
                  {{"reason", relay::to_text(refusal.verdict)},
                   {"node", refusal.node},
                   {"client", refusal.client},
                   {"door", refusal.door}});
    };
    doors_ = doors;
    TRY(peers_, relay::PeerServer::start(endpoint, loops,
                                         {.doors = std::move(doors),
                                          .tls = peer_tls_.get(),
                                          .on_error = on_error,
                                          .on_refused = on_refused}));
    return {};
}

void ClusterNode::join(service::LockService& service, Listeners listeners) {
    service_ = &service;
    listeners_ = std::move(listeners);
    store_->view().on_change([this](const cluster::Picture& picture) { look_at(picture); });
    loop_.post([this] {
        probe();
        recover();
    });
}

// Until etcd has answered once. The store waits for it by itself, but cannot tell an imitation.
void ClusterNode::probe() {
    if (is_leaving_) return;
    etcd::probe(*etcd_, keys_.prefix(), probe_timeout,
                [this](const etcd::Answer<etcd::Warnings>& warnings) {
                    if (is_leaving_) return;
                    if (!warnings && warnings.error().kind == etcd::Failure::Kind::rejected) {
                        return listeners_.on_failed(warnings.error().message);
                    }
                    if (warnings) return;
                    base::log(base::LogLevel::warning, "etcd does not answer; trying again",
                              {{"error", warnings.error().message}});
                    probe_timer_.call_at(net::EventLoop::Clock::now() + probe_timeout);
                });
}

void ClusterNode::recover() {
    service_->recover(
        [this](const service::StoreResult<service::Recovered>& result) { on_recovered(result); });
}

void ClusterNode::on_recovered(const service::StoreResult<service::Recovered>& result) {
    if (is_leaving_) return;
    if (result) return listeners_.on_leading();
    // A recovery that was deposed is one more end of the lead: the service calls on_deposed().
    if (result.error().kind == service::StoreFailure::Kind::deposed) return;
    listeners_.on_failed(result.error().message);
}

void ClusterNode::on_deposed() {
    listeners_.on_not_leading();
    loop_.post([this] {
        if (!is_leaving_) recover();
    });
}

void ClusterNode::look_at(const cluster::Picture& picture) {
    if (picture.is_leading()) {
        relay_->follow(std::nullopt);
        followed_ = picture.leader;
        peers_->lead({.epoch = picture.leader.epoch, .secret = picture.secret});
    } else {
        peers_->stop_leading();
        follow(picture.is_served() ? picture.leader : cluster::Leader{}, picture.secret);
    }
}

// Clients that were served here connect again, and are passed on then.
void ClusterNode::follow(const cluster::Leader& leader, const std::string& secret) {
    if (leader == followed_) return;
    followed_ = leader;
    base::log(base::LogLevel::info, "clients are passed on",
              {{"to", leader.name.empty() ? "nobody" : std::string_view(leader.name)},
               {"address", leader.peer},
               {"epoch", leader.epoch}});
    if (leader.name.empty()) {
        relay_->follow(std::nullopt);
        return send_clients_away();
    }
    lookups_->run([this, leader, secret] {
        const auto endpoint = look_up(split(leader.peer));
        loop_.post([this, leader, secret, endpoint] {
            if (followed_ != leader || is_leaving_) return;
            if (!endpoint) {
                base::log(base::LogLevel::error, "the leader cannot be found",
                          {{"address", leader.peer}, {"error", endpoint.error().message}});
                return;
            }
            relay_->follow(relay::Leader{.peer = *endpoint,
                                         .host = split(leader.peer).host,
                                         .epoch = leader.epoch,
                                         .secret = secret});
            send_clients_away();
        });
    });
}

void ClusterNode::send_clients_away() {
    for (const auto& [name, server] : doors_) server->send_away();
}

void ClusterNode::leave(std::function<void()> done) {
    is_leaving_ = true;
    probe_timer_.cancel();
    if (listeners_.on_not_leading) listeners_.on_not_leading();
    relay_->follow(std::nullopt);
    store_->stop([this, done = std::move(done)]() mutable {
        peers_->stop_leading();
        peers_->shut_down(
            peers_grace, [this, done = std::move(done)]() mutable { loop_.post(std::move(done)); });
    });
}

void ClusterNode::close() {
    lookups_.reset();
    peers_.reset();
    relay_.reset();
}

}  // namespace holdfast::app
