#include "app/cluster/node.h"

#include <atomic>
#include <chrono>

#include "base/crypto.h"
#include "base/log/log.h"
#include "etcd/probe.h"

namespace holdfast::app {

namespace {

constexpr std::chrono::seconds probe_timeout{2};
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

}  // namespace

base::Result<std::unique_ptr<ClusterNode>> ClusterNode::open(const ClusterOptions& options,
                                                             net::EventLoop& loop,
                                                             const service::Clock& clock,
                                                             Surroundings surroundings) {
    constexpr std::size_t history_bytes_max = std::size_t{4} << 20U;
    TRY(auto etcd, open_etcd(options, loop));
    std::unique_ptr<ClusterNode> node(new ClusterNode(options, loop, clock, std::move(etcd)));
    if (!options.peer_tls.certificate_file.empty()) {
        TRY(node->peer_tls_, net::TlsSource::open(options.peer_tls));
        TRY(node->peer_trust_, net::TlsTrust::load(options.peer_ca_file));
    }
    node->etcd_trust_ = node->etcd_->trust();
    TRY(const auto peer, net::parse_endpoint(options.peer_address));
    std::vector<std::string> warnings;
    if (auto plain = plain_etcd_warning(options, surroundings.is_insecure); !plain.empty()) {
        base::log(base::LogLevel::warning, "the connection to etcd is plain", {{"why", plain}});
        warnings.push_back(std::move(plain));
    }
    node->owned_store_ = std::make_unique<cluster::ClusterStore>(
        cluster::ClusterOptions{
            .prefix = node->keys_.prefix(),
            .node = node_name(options),
            .peer = advertised_peer(options, peer),
            .version = HOLDFAST_VERSION,
            .lease = {.ttl = std::chrono::ceil<std::chrono::seconds>(options.ttl)},
            .compacts = !options.leaves_history,
            .quota_bytes = options.quota_bytes,
            .etcd_warnings = std::move(warnings),
            .history = {.age_max = surroundings.history_age,
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
      keys_(etcd.prefix),
      timers_(loop, clock),
      probe_timer_(loop, [this] { probe(); }),
      etcd_(std::move(etcd.client)),
      finder_({.loop = loop,
               .look_up = look_up_peer,
               .fails = [this] { return !relay_->trouble().empty(); },
               .on_found = [this](const auto& addresses) { pass_on_to(addresses); },
               .on_found_again = [this] { relay_->look(); }}) {}

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
            store_->begin_epoch([done](const base::Result<std::uint64_t>& epoch) {
                if (!epoch) return done(tl::unexpected(epoch.error()));
                done("the epoch is now above " + std::to_string(*epoch) +
                     ", and the next leader goes on from there");
            });
        });
    };
    return {.picture = [this] { return store_->view().picture(); },
            .resign = resign,
            .begin_epoch = begin_epoch,
            .count_relayed = [this] { return std::uint64_t{relay_->counts().open}; },
            .why_not_passed_on = [this] { return why_not_passed_on(); }};
}

void ClusterNode::open_relay(const std::vector<net::EventLoop*>& loops) {
    const auto on_failure = [](const std::string& reason) {
        base::log(base::LogLevel::debug, "a connection was not passed on", {{"reason", reason}});
    };
    relay::RelayOptions options{.node = node_name(options_), .on_failure = on_failure};
    if (peer_trust_) {
        options.trust = [this] {
            const std::lock_guard guard(trust_mutex_);
            return peer_trust_;
        };
    }
    relay_ = std::make_unique<relay::Relay>(loops, std::move(options));
}

base::Result<void> ClusterNode::read_again() {
    TRY(auto settings, etcd_settings(options_));
    TRY(auto etcd_trust, etcd::Client::load_trust(settings));
    std::shared_ptr<const net::TlsContext> shown;
    std::shared_ptr<const net::TlsTrust> peer_trust;
    if (peer_tls_) {
        TRY(shown, peer_tls_->load());
        TRY(peer_trust, net::TlsTrust::load(options_.peer_ca_file));
        peer_tls_->replace(std::move(shown));
    }
    {
        const std::lock_guard guard(trust_mutex_);
        peer_trust_ = std::move(peer_trust);
        etcd_trust_ = etcd_trust;
    }
    loop_.post([this, trust = std::move(etcd_trust), password = std::move(settings.password)] {
        etcd_->renew(trust, password);
    });
    return {};
}

std::vector<CertificateFigures> ClusterNode::count_certificates() const {
    std::vector<CertificateFigures> all;
    if (peer_tls_) add_certificate(all, "nodes", peer_tls_->current()->native());
    const std::lock_guard guard(trust_mutex_);
    if (etcd_trust_) add_certificate(all, "etcd", etcd_trust_->native());
    return all;
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
        finder_.stop();
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
    if (leader == followed_ && secret == secret_) return;
    followed_ = leader;
    secret_ = secret;
    base::log(base::LogLevel::info, "clients are passed on",
              {{"to", leader.name.empty() ? "nobody" : std::string_view(leader.name)},
               {"address", leader.peer},
               {"epoch", leader.epoch}});
    if (!leader.name.empty()) return finder_.find(leader.peer);
    finder_.stop();
    relay_->follow(std::nullopt);
    send_clients_away();
}

// A look tells whether connections would be passed on, before a client has to find out.
void ClusterNode::pass_on_to(const LeaderFinder::Addresses& addresses) {
    relay_->follow(relay::Leader{.peers = addresses,
                                 .host = host_of_peer(followed_.peer),
                                 .epoch = followed_.epoch,
                                 .secret = secret_});
    send_clients_away();
    relay_->look();
}

std::string ClusterNode::why_not_passed_on() const {
    std::string why = finder_.trouble();
    if (!why.empty()) return why;
    const std::string trouble = relay_->trouble();
    return trouble.empty() ? "" : "connections cannot be passed on to the leader: " + trouble;
}

void ClusterNode::send_clients_away() {
    for (const auto& [name, server] : doors_) server->send_away();
}

void ClusterNode::leave(std::function<void()> done) {
    is_leaving_ = true;
    probe_timer_.cancel();
    finder_.stop();
    if (listeners_.on_not_leading) listeners_.on_not_leading();
    relay_->follow(std::nullopt);
    store_->stop([this, done = std::move(done)]() mutable {
        peers_->stop_leading();
        peers_->shut_down(
            peers_grace, [this, done = std::move(done)]() mutable { loop_.post(std::move(done)); });
    });
}

void ClusterNode::close() {
    peers_.reset();
    relay_.reset();
}

}  // namespace holdfast::app
