#include "app/host.h"

#include <algorithm>
#include <future>
#include <thread>
#include <utility>

#include "app/tally.h"
#include "base/check.h"
#include "base/crypto.h"
#include "base/log/log.h"
#include "service/doors.h"
#include "service/ports/clock.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"

namespace holdfast::app {

namespace {

base::Result<std::unique_ptr<service::Store>> open_store(const ServeOptions& options,
                                                         const service::Clock& clock) {
    if (options.is_in_memory) {
        return std::make_unique<store::MemoryStore>(options.history, &clock);
    }
    TRY(auto opened,
        store::SqliteStore::open(database_file(options), clock, {.history = options.history}));
    return std::unique_ptr<service::Store>(std::move(opened));
}

// The longest lease is the same at all doors.
doors::redis::RedisOptions redis_options(const ServeOptions& options) {
    doors::redis::RedisOptions redis = options.redis;
    redis.ttl_max = options.limits.ttl_max;
    return redis;
}

// What the lock table is told of the limits of dflockd's door.
core::TableOptions table_options(const ServeOptions& options, std::uint64_t hash_seed) {
    const auto or_any = [](std::size_t number) { return number == 0 ? SIZE_MAX : number; };
    const DflockdLimits& limits = options.dflockd_limits;
    core::TableOptions table{.limits = options.limits,
                             .first_fence = service::first_number(),
                             .idle_retention = limits.idle_max,
                             .idle_door = service::dflockd_door,
                             .hash_seed = hash_seed};
    if (limits.locks_max > 0 || limits.waiters_max > 0) {
        table.door_limits = core::DoorLimits{.door = service::dflockd_door,
                                             .locks_max = or_any(limits.locks_max),
                                             .waiters_per_lock_max = or_any(limits.waiters_max)};
    }
    return table;
}

// Warns of connections that a door has refused, at most once a second. Called on the thread of `loop`.
std::function<void()> warn_of_refused(net::EventLoop& loop, const Door& door,
                                      const ConnectionsMax& most) {
    const auto warn = [&door, most](std::uint64_t times) {
        base::log(base::LogLevel::warning, "connections were refused: too many are open",
                  {{"door", std::string_view(door.name)},
                   {"limit", std::uint64_t{most.number}},
                   {"option", std::string_view(most.option)},
                   {"refused", times}});
    };
    const auto tally = std::make_shared<Tally>(loop, std::chrono::seconds{1}, warn);
    return [tally] { tally->add(); };
}

}  // namespace

base::Result<std::unique_ptr<Host>> Host::start(const ServeOptions& options,
                                                service::Clock& clock) {
    TRY(check(options));
    Foundation foundation;
    TRY(foundation.credentials, Credentials::read(options));
    foundation.main_loop = std::make_unique<net::EventLoop>();
    if (options.cluster.is_on()) {
        const ClusterNode::Surroundings surroundings{.history_age = options.history.age_max,
                                                     .is_insecure = options.is_insecure};
        TRY(foundation.node,
            ClusterNode::open(options.cluster, *foundation.main_loop, clock, surroundings));
        foundation.store = foundation.node->take_store();
    } else {
        TRY(foundation.store, open_store(options, clock));
    }
    std::unique_ptr<Host> host(new Host(options, clock, std::move(foundation)));
    if (!host->node_) TRY(host->recover());
    TRY(host->open_files());
    TRY(host->open_listeners());
    return host;
}

// The stores that open_store() opens answer before recover() returns.
base::Result<void> Host::recover() {
    service::StoreResult<service::Recovered> recovered;
    service_->recover([&](auto result) { recovered = std::move(result); });
    if (!recovered) return base::fail("cannot recover the locks: " + recovered.error().message);
    if (options_.is_in_memory) return {};
    base::log(base::LogLevel::info, "recovered",
              {{"file", where_locks_are(options_)},
               {"leases", std::uint64_t{recovered->leases}},
               {"fences", std::uint64_t{recovered->fences.size()}}});
    return {};
}

Host::Host(const ServeOptions& options, service::Clock& clock, Foundation foundation)
    : options_(options),
      clock_(clock),
      credentials_(std::move(foundation.credentials)),
      host_names_(HostNames::of_this_machine(options.host_names)),
      origins_(options.files.origins),
      main_loop_(std::move(foundation.main_loop)),
      overlap_timer_(*main_loop_,
                     [this] {
                         credentials_->end_replaced_tokens();
                         on_rights_changed();
                     }),
      node_(std::move(foundation.node)),
      main_executor_(std::make_unique<LoopExecutor>(*main_loop_)),
      event_feed_(service::first_number()),
      store_(std::move(foundation.store)),
      disk_(std::make_unique<base::WorkPool>(1)),
      http_limits_(options),
      dflockd_door_(options.dflockd, credentials_->tokens()),
      redis_door_(redis_options(options), credentials_->tokens(), clock_) {
    base::RandomBits random;
    service_ = std::make_unique<service::LockService>(
        table_options(options, random()),
        service::ServiceParts{
            .clock = clock_,
            .store = *store_,
            .executor = *main_executor_,
            .random = random,
            .on_changes =
                [this](const core::Changes& changes) {
                    event_log_.on_changes(changes);
                    if (store_->is_volatile()) store_->on_changes(changes);
                },
            .take_changes =
                [this](core::Changes& changes) { event_feed_.publish(std::move(changes)); },
            .first_event = event_feed_.next_id(),
            .on_events_lost = [this](std::uint64_t count) { event_feed_.lose(count); },
            .fence_limits = {.resources_max = options.fences_max,
                             .resource_length_max = options.limits.key_length_max},
            .on_fence_refused =
                [this](const service::FenceRefusal& refusal) {
                    event_log_.on_fence_refused(refusal);
                    event_feed_.publish(refusal);
                },
            .on_act =
                [this](const service::AdminAct& act) {
                    service::EventLog::on_act(act);
                    event_feed_.publish(act);
                },
            .on_deposed =
                [this](const service::StoreFailure& /*why*/) {
                    if (node_) node_->on_deposed();
                }});
    terraform_door_ = std::make_unique<doors::terraform::TerraformDoor>(
        options_.terraform, doors::terraform::TerraformDoor::Parts{.port = *service_,
                                                                   .executor = *main_executor_,
                                                                   .clock = clock_,
                                                                   .place = state_place(options_)});
    if (!node_) terraform_door_->serve();
    const bool has_own_loops = options_.threads > 1;
    for (std::size_t index = 0; index < options_.threads; ++index) {
        loops_.push_back(std::make_unique<LoopParts>(shared_parts(), has_own_loops));
    }
    if (node_) node_->open_relay(loops());
}

std::vector<net::EventLoop*> Host::loops() const {
    std::vector<net::EventLoop*> all;
    for (const auto& parts : loops_) all.push_back(parts->loop);
    return all;
}

SharedParts Host::shared_parts() {
    return {.options = options_,
            .clock = clock_,
            .tokens = credentials_->tokens(),
            .host_names = host_names_,
            .http_limits = http_limits_,
            .main_loop = *main_loop_,
            .main_executor = *main_executor_,
            .service = *service_,
            .event_feed = event_feed_,
            .store = *store_,
            .disk = *disk_,
            .backup_slots = backup_slots_,
            .origins = origins_,
            .dflockd_door = dflockd_door_,
            .redis_door = redis_door_,
            .terraform_door = *terraform_door_,
            .count_connections = [this] { return count_connections(); },
            .count_requests = [this] { return count_requests(); },
            .count_certificates = [this] { return count_certificates(); },
            .cluster = node_ ? node_->control() : alone_};
}

// Connections go before the parts of the loops they speak on, and ports before the service; the store finishes
// its commit, of which nobody will hear, while there is a service to be told. Those who work on the
// files' disk are sent home while there are loops to report to, though nobody will read that.
Host::~Host() {
    if (node_) node_->close();
    listeners_.clear();
    if (files_) files_->close();
    terraform_door_->close();
    disk_.reset();
    store_->end_reading();
    loops_.clear();
    store_.reset();
}

base::Result<void> Host::open_files() {
    const auto is_files = [](const Door* door) { return door->name == std::string_view("files"); };
    const auto open = open_doors(options_);
    if (std::none_of(open.begin(), open.end(), is_files)) return {};
    FilesKeeper::Parts parts{.options = options_.files,
                             .door = {.clock = clock_,
                                      .port = *service_,
                                      .executor = *main_executor_,
                                      .tokens = credentials_->tokens(),
                                      .origins = origins_,
                                      .has_tls = credentials_->tls() != nullptr},
                             .loop = *main_loop_,
                             .servers = {}};
    for (const auto& each : loops_) {
        parts.servers.push_back(
            {.loop = each->loop,
             .open = [loop = each.get()](const auto& door) { loop->open_files(door); },
             .close = [loop = each.get()](const auto& why) { loop->close_files(why); }});
    }
    files_ = std::make_unique<FilesKeeper>(std::move(parts));
    if (node_) return {};  // until it leads
    return files_->open_now();
}

base::Result<void> Host::open_listeners() {
    ClusterNode::Doors shared_doors;
    for (const Door* const door : open_doors(options_)) {
        const bool may_pass_on = node_ && door->is_shared;
        TRY(const auto endpoint, net::parse_endpoint(address_of(*door, options_)));
        const auto make_protocol = [this, door](net::Channel& channel, net::EventLoop& loop) {
            return door->make_protocol(channel, parts_of(loop));
        };
        const auto on_error = [door](const base::Error& error) {
            base::log(base::LogLevel::warning, "a listener has trouble",
                      {{"door", std::string_view(door->name)}, {"error", error.message}});
        };
        const ConnectionsMax most = door->connections_max(options_);
        // Nobody can listen in on a Unix socket, so it needs no TLS.
        TRY(auto server,
            net::Server::start(endpoint, loops(), make_protocol,
                               {.connections_max = most.number,
                                .turn_away_text = door->turn_away_text(most),
                                .limits = door->limits(options_),
                                .tls = endpoint.is_unix() ? nullptr : credentials_->tls(),
                                .on_error = on_error,
                                .on_refused = warn_of_refused(*loops().front(), *door, most),
                                .divert = may_pass_on ? node_->divert(door->name) : nullptr}));
        if (may_pass_on) shared_doors.emplace_back(door->name, server.get());
        listeners_.push_back({.door = door, .server = std::move(server)});
    }
    if (files_) files_->listen_at(endpoint("files"));
    if (const net::Endpoint* const dashboard = find_endpoint("http")) {
        origins_.allow_dashboard(*dashboard, credentials_->tls() != nullptr);
    }
    if (node_) TRY(node_->listen(loops(), std::move(shared_doors)));
    return {};
}

const net::Endpoint* Host::find_endpoint(std::string_view door) const {
    for (const Listening& listening : listeners_) {
        if (listening.door->name == door) return &listening.server->endpoint();
    }
    return nullptr;
}

const net::Endpoint& Host::endpoint(std::string_view door) const {
    const net::Endpoint* const found = find_endpoint(door);
    CHECK(found != nullptr);
    return *found;
}

std::vector<std::string> Host::describe_listeners(char between) const {
    std::vector<std::string> texts;
    for (const auto& [door, server] : listeners_) {
        const net::Endpoint& endpoint = server->endpoint();
        std::string text(shown_name(*door, endpoint, credentials_->tls() != nullptr));
        texts.push_back(text.append(1, between).append(net::to_text(endpoint)));
    }
    return texts;
}

LoopParts& Host::parts_of(const net::EventLoop& loop) {
    for (const auto& parts : loops_) {
        if (parts->loop == &loop) return *parts;
    }
    CHECK(false);
    std::abort();
}

std::vector<ListenerFigures> Host::count_connections() const {
    std::vector<ListenerFigures> listeners;
    for (const auto& [door, server] : listeners_) {
        listeners.push_back(
            {.name = door->name, .endpoint = server->endpoint(), .counts = server->counts()});
    }
    return listeners;
}

// All loops together.
base::Result<void> Host::reload() {
    TRY(auto fresh, credentials_->read_files());
    if (node_) TRY(node_->read_again());
    credentials_->replace(std::move(fresh));
    on_rights_changed();
    return {};
}

std::vector<CertificateFigures> Host::count_certificates() const {
    std::vector<CertificateFigures> all;
    if (const net::TlsSource* const tls = credentials_->tls()) {
        add_certificate(all, "clients", tls->current()->native());
    }
    if (!node_) return all;
    const auto of_node = node_->count_certificates();
    all.insert(all.end(), of_node.begin(), of_node.end());
    return all;
}

std::vector<ListenerRequests> Host::count_requests() const {
    std::vector<ListenerRequests> listeners;
    for (const auto& [door, server] : listeners_) {
        if (door->requests == nullptr) continue;
        ListenerRequests& listener = listeners.emplace_back();
        listener.listener = door->name;
        for (const auto& parts : loops_) door->requests(*parts).add_to(listener.routes);
    }
    return listeners;
}

void Host::run() {
    std::vector<std::thread> threads;
    for (const auto& parts : loops_) {
        if (parts->own_loop) threads.emplace_back([&parts] { parts->own_loop->run(); });
    }
    if (node_) {
        node_->join(*service_, {.on_failed =
                                    [this](const std::string& why) {
                                        failure_ = "cannot be a part of the cluster: " + why;
                                        shut_down();
                                    },
                                .on_leading =
                                    [this] {
                                        terraform_door_->serve();
                                        if (files_) files_->lead();
                                    },
                                .on_not_leading =
                                    [this] {
                                        stop_serving_states();
                                        if (files_) files_->stop_leading();
                                    }});
    }
    main_loop_->run();
    for (std::thread& thread : threads) thread.join();
}

// In the same turn: nothing is granted between the change of rights and the end of the waits that have
// lost theirs.
void Host::on_rights_changed() {
    if (const std::size_t ended = service_->end_waits_without_right(); ended > 0) {
        base::log(base::LogLevel::info, "requests that waited have lost their right to the lock",
                  {{"count", std::uint64_t{ended}}});
    }
    if (const auto next = credentials_->tokens().current()->next_end()) {
        overlap_timer_.call_at(*next);
    }
}

void Host::stop_serving_states() {
    terraform_door_->stop_serving();
    for (const auto& parts : loops_) {
        parts->loop->post([loop = parts.get()] { loop->break_off_states(); });
    }
}

void Host::shut_down() {
    main_loop_->post([this] {
        if (is_shutting_down_) return;
        is_shutting_down_ = true;
        service_->begin_stop();
        for (const auto& parts : loops_) {
            parts->loop->post([loop = parts.get()] { loop->elections->begin_stop(); });
        }
        end_at_ = net::EventLoop::Clock::now() + options_.shutdown_timeout;
        end_timer_ = std::make_unique<net::LoopTimer>(*main_loop_, [this] { close_doors(); });
        end_timer_->call_at(end_at_);
        servers_busy_ = listeners_.size();
        for (const Listening& listening : listeners_) {
            listening.server->begin_shut_down([this] {
                main_loop_->post([this] {
                    if (--servers_busy_ == 0) close_doors();
                });
            });
        }
    });
}

// Whoever has asked since the shutdown began gets an answer, too, if that does not take long: from
// now on nobody can connect to renew a lease.
void Host::close_doors() {
    if (std::exchange(is_closing_, true)) return;
    constexpr std::chrono::milliseconds grace_min{250}, grace_max{1'000};
    const auto rest =
        std::chrono::ceil<std::chrono::milliseconds>(end_at_ - net::EventLoop::Clock::now());
    const auto grace = std::clamp(rest, grace_min, grace_max);
    parts_open_ = listeners_.size() + (node_ ? 1 : 0);
    for (const Listening& listening : listeners_) {
        listening.server->shut_down(grace, [this] { main_loop_->post([this] { close_one(); }); });
    }
    if (node_) node_->leave([this] { close_one(); });
}

void Host::close_one() {
    if (--parts_open_ == 0) stop_loops();
}

void Host::stop_loops() {
    for (const auto& parts : loops_) parts->loop->stop();
    main_loop_->stop();
}

void Host::wake() {
    FilesKeeper::DoorPointer files;
    std::promise<void> woken;
    main_loop_->post([&] {
        service_->wake();
        if (files_) files = files_->door();
        woken.set_value();
    });
    woken.get_future().wait();
    if (files) files->end_expired_sessions();
}

}  // namespace holdfast::app
