#include "app/host.h"

#include <algorithm>
#include <future>
#include <thread>
#include <utility>

#include "app/http/http_gate.h"
#include "app/http/http_router.h"
#include "app/http/session_handler.h"
#include "app/http/status_handler.h"
#include "app/loop_executor.h"
#include "base/check.h"
#include "base/log/log.h"
#include "base/random.h"
#include "base/secret.h"
#include "doors/dflockd/dflockd_protocol.h"
#include "doors/hengdang/hengdang_handler.h"
#include "doors/lockserver/lockserver_handler.h"
#include "doors/scoped/scoped_handler.h"
#include "service/first_number.h"
#include "service/ports/remote_port.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"

namespace holdfast::app {

// One I/O loop, its way to the service, and the doors that speak on it.
struct Host::Room {
    net::EventLoop* loop = nullptr;
    service::Port* port = nullptr;
    std::unique_ptr<net::EventLoop> own_loop;          // absent: the main loop serves itself
    std::unique_ptr<LoopExecutor> executor;            // with own_loop
    std::unique_ptr<service::RemotePort> remote_port;  // with own_loop
    std::unique_ptr<doors::homelab::HomelabHandler> homelab;
    std::unique_ptr<doors::lockserver::EventStreams> streams;
    std::unique_ptr<doors::lockserver::LockserverHandler> lockserver;
    std::unique_ptr<doors::scoped::ScopedHandler> scoped;
    std::unique_ptr<StatusHandler> status;
    std::unique_ptr<SessionHandler> sessions;
    std::unique_ptr<BackupHandler> backup;
    std::unique_ptr<HttpRouter> router;
    std::unique_ptr<HttpGate> gate;                           // in front of the router
    std::unique_ptr<doors::hengdang::HengdangHandler> files;  // with the door for files
};

namespace {

base::Result<std::unique_ptr<service::Store>> open_store(const ServeOptions& options,
                                                         const service::Clock& clock) {
    if (options.is_in_memory) return std::make_unique<store::MemoryStore>();
    TRY(auto opened, store::SqliteStore::open(database_file(options), clock));
    return std::unique_ptr<service::Store>(std::move(opened));
}

doors::dflockd::DflockdOptions dflockd_options(const ServeOptions& options) {
    doors::dflockd::DflockdOptions dflockd = options.dflockd;
    dflockd.waiters_per_lock_max = options.limits.waiters_per_lock_max;
    return dflockd;
}

}  // namespace

base::Result<std::unique_ptr<Host>> Host::start(const ServeOptions& options,
                                                service::Clock& clock) {
    TRY(check(options));
    TRY(auto credentials, Credentials::read(options));
    TRY(auto store, open_store(options, clock));
    std::unique_ptr<Host> host(new Host(options, clock, std::move(credentials), std::move(store)));
    // The stores that open_store() opens answer before recover() returns.
    service::StoreResult<service::Recovered> recovered;
    host->service_->recover([&](auto result) { recovered = std::move(result); });
    if (!recovered) return base::fail("cannot recover the locks: " + recovered.error().message);
    if (!options.is_in_memory) {
        base::log(base::LogLevel::info, "recovered",
                  {{"file", database_file(options)},
                   {"leases", std::uint64_t{recovered->leases}},
                   {"fences", std::uint64_t{recovered->fences.size()}}});
    }
    TRY(host->open_files());
    TRY(host->open_doors());
    return host;
}

Host::Host(const ServeOptions& options, service::Clock& clock,
           std::unique_ptr<Credentials> credentials, std::unique_ptr<service::Store> store)
    : options_(options),
      clock_(clock),
      credentials_(std::move(credentials)),
      host_names_(HostNames::of_this_machine(options.host_names)),
      main_executor_(std::make_unique<LoopExecutor>(main_loop_)),
      event_feed_(service::first_number()),
      store_(std::move(store)),
      disk_(std::make_unique<base::WorkPool>(1)),
      dflockd_gate_(credentials_->tokens()),
      dflockd_door_(dflockd_options(options), dflockd_gate_) {
    base::RandomBits random;
    service_ = std::make_unique<service::LockService>(
        core::TableOptions{.limits = options.limits,
                           .first_fence = service::first_number(),
                           .idle_retention = options.idle_retention,
                           .hash_seed = random()},
        service::ServiceParts{
            .clock = clock_,
            .store = *store_,
            .executor = *main_executor_,
            .random = random,
            .on_changes = [this](const core::Changes& changes) { event_log_.on_changes(changes); },
            .take_changes =
                [this](core::Changes& changes) { event_feed_.publish(std::move(changes)); },
            .fence_limits = {.resources_max = options.fences_max,
                             .resource_length_max = options.limits.key_length_max},
            .on_fence_refused =
                [this](const service::FenceRefusal& refusal) {
                    event_log_.on_fence_refused(refusal);
                    event_feed_.publish(refusal);
                }});
    http_limits_.body_bytes_max = options_.http_body_bytes_max;
    http_limits_.needs_host = true;
    http_limits_.body_pace = {.grace = options_.http_request_timeout,
                              .bytes_per_second_min = options_.files_pace_min};
    const bool has_own_loops = options_.threads > 1;
    for (std::size_t index = 0; index < options_.threads; ++index) add_room(has_own_loops);
}

void Host::add_room(bool has_own_loop) {
    auto room = std::make_unique<Room>();
    room->loop = &main_loop_;
    room->port = service_.get();
    service::Executor* executor = main_executor_.get();
    if (has_own_loop) {
        room->own_loop = std::make_unique<net::EventLoop>();
        room->loop = room->own_loop.get();
        room->executor = std::make_unique<LoopExecutor>(*room->loop);
        room->remote_port =
            std::make_unique<service::RemotePort>(*room->executor, *main_executor_, *service_);
        room->port = room->remote_port.get();
        executor = room->executor.get();
    }
    room->homelab =
        std::make_unique<doors::homelab::HomelabHandler>(options_.homelab, *room->port, clock_);
    room->streams = std::make_unique<doors::lockserver::EventStreams>(event_feed_, *executor,
                                                                      *room->loop, clock_);
    room->lockserver =
        std::make_unique<doors::lockserver::LockserverHandler>(*room->port, *room->streams, clock_);
    room->scoped =
        std::make_unique<doors::scoped::ScopedHandler>(options_.scoped, *room->port, clock_);
    room->status = std::make_unique<StatusHandler>(StatusHandler::Parts{
        .port = *room->port,
        .store = *store_,
        .options = options_,
        .count_connections = [this] { return count_connections(); },
        .count_files =
            [this] {
                using FileFigures = doors::hengdang::FileFigures;
                return files_door_ ? std::optional<FileFigures>(files_door_->figures())
                                   : std::nullopt;
            }});
    room->sessions = std::make_unique<SessionHandler>(SessionHandler::Parts{
        .port = *room->port, .loop = *room->loop, .clock = clock_, .files = files_door_});
    room->backup = std::make_unique<BackupHandler>(BackupHandler::Parts{
        .loop = *room->loop,
        .disk = *disk_,
        .slots = backup_slots_,
        .database_path = options_.is_in_memory ? "" : database_file(options_)});
    room->router =
        std::make_unique<HttpRouter>(HttpRouter::Handlers{.homelab = *room->homelab,
                                                          .lockserver = *room->lockserver,
                                                          .scoped = *room->scoped,
                                                          .status = *room->status,
                                                          .sessions = *room->sessions,
                                                          .backup = *room->backup});
    room->gate = std::make_unique<HttpGate>(credentials_->tokens(), host_names_, *room->router);
    rooms_.push_back(std::move(room));
}

// Connections go before the rooms they speak in, and ports before the service; the store finishes
// its commit, of which nobody will hear, while there is a service to be told. Those who work on the
// files' disk are sent home while there are loops to report to, though nobody will read that.
Host::~Host() {
    files_server_.reset();
    dflockd_server_.reset();
    http_server_.reset();
    if (files_door_) files_door_->close();
    disk_.reset();
    rooms_.clear();
    store_.reset();
}

base::Result<void> Host::open_files() {
    if (files_address(options_) == no_address) return {};
    const auto is_secret = [this](std::string_view shown) {
        const std::string secret = credentials_->tokens().current()->auth;
        return !secret.empty() && base::equal_in_constant_time(secret, shown);
    };
    TRY(files_door_, doors::hengdang::HengdangDoor::open(
                         options_.files, {.clock = clock_,
                                          .port = *service_,
                                          .executor = *main_executor_,
                                          .is_secret = is_secret,
                                          .has_tls = credentials_->tls() != nullptr}));
    for (const auto& room : rooms_) {
        room->files =
            std::make_unique<doors::hengdang::HengdangHandler>(doors::hengdang::HengdangPlace{
                .door = *files_door_, .loop = *room->loop, .port = *room->port});
    }
    files_timer_ = std::make_unique<net::LoopTimer>(main_loop_, [this] { tend_files(); });
    tend_files();
    return {};
}

// Sessions end by the wall clock, which may be set: so it is looked at now and then.
void Host::tend_files() {
    constexpr std::chrono::seconds interval{1};
    files_door_->tend();
    files_timer_->call_at(net::EventLoop::Clock::now() + interval);
}

base::Result<void> Host::open_doors() {
    net::ConnectionLimits http;
    http.request_timeout = options_.http_request_timeout;
    http.idle_timeout = options_.http_idle_timeout;
    TRY(http_server_, open_door(
                          options_.http_address, "http",
                          [this](net::Channel& channel, net::EventLoop& loop) {
                              return std::make_unique<net::HttpProtocol>(
                                  channel, *room_of(loop).gate, http_limits_);
                          },
                          http));
    net::ConnectionLimits dflockd;
    dflockd.request_timeout = options_.dflockd_read_timeout;
    dflockd.write_timeout = options_.dflockd_write_timeout;
    dflockd.idle_timeout = std::chrono::milliseconds::zero();
    using doors::dflockd::DflockdPlace;
    using doors::dflockd::DflockdProtocol;
    TRY(dflockd_server_, open_door(
                             options_.dflockd_address, "dflockd",
                             [this](net::Channel& channel, net::EventLoop& loop) {
                                 const DflockdPlace place{dflockd_door_, *room_of(loop).port, loop};
                                 return std::make_unique<DflockdProtocol>(channel, place);
                             },
                             dflockd));
    TRY(files_server_, open_door(
                           files_address(options_), "files",
                           [this](net::Channel& channel, net::EventLoop& loop) {
                               return std::make_unique<net::HttpProtocol>(
                                   channel, *room_of(loop).files, http_limits_);
                           },
                           http));
    if (files_door_) files_door_->listen_at(files_server_->endpoint());
    return {};
}

// A null server if the address is none.
base::Result<std::unique_ptr<net::Server>> Host::open_door(const std::string& address,
                                                           const char* name,
                                                           net::ProtocolFactory factory,
                                                           const net::ConnectionLimits& limits) {
    if (address == no_address) return nullptr;
    TRY(const auto endpoint, net::parse_endpoint(address));
    std::vector<net::EventLoop*> loops;
    for (const auto& room : rooms_) loops.push_back(room->loop);
    return net::Server::start(
        endpoint, loops, std::move(factory),
        {.connections_max = options_.connections_max,
         .limits = limits,
         .tls = credentials_->tls(),
         .on_error = [name](const base::Error& error) {
             base::log(base::LogLevel::warning, "a listener has trouble",
                       {{"door", std::string_view(name)}, {"error", error.message}});
         }});
}

std::vector<net::Server*> Host::servers() const {
    std::vector<net::Server*> servers;
    if (http_server_) servers.push_back(http_server_.get());
    if (dflockd_server_) servers.push_back(dflockd_server_.get());
    if (files_server_) servers.push_back(files_server_.get());
    return servers;
}

Host::Room& Host::room_of(const net::EventLoop& loop) {
    for (const auto& room : rooms_) {
        if (room->loop == &loop) return *room;
    }
    CHECK(false);
    std::abort();
}

std::vector<ListenerFigures> Host::count_connections() const {
    std::vector<ListenerFigures> listeners;
    const auto add = [&](std::string_view name, const net::Server& server) {
        listeners.push_back(
            {.name = name, .endpoint = server.endpoint(), .counts = server.counts()});
    };
    if (http_server_) add("http", *http_server_);
    if (dflockd_server_) add("dflockd", *dflockd_server_);
    if (files_server_) add("files", *files_server_);
    return listeners;
}

void Host::run() {
    std::vector<std::thread> threads;
    for (const auto& room : rooms_) {
        if (room->own_loop) threads.emplace_back([&room] { room->own_loop->run(); });
    }
    main_loop_.run();
    for (std::thread& thread : threads) thread.join();
}

void Host::shut_down() {
    main_loop_.post([this] {
        if (is_shutting_down_) return;
        is_shutting_down_ = true;
        service_->begin_stop();
        end_at_ = net::EventLoop::Clock::now() + options_.shutdown_timeout;
        end_timer_ = std::make_unique<net::LoopTimer>(main_loop_, [this] { close_doors(); });
        end_timer_->call_at(end_at_);
        servers_busy_ = servers().size();
        for (net::Server* const server : servers()) {
            server->begin_shut_down([this] {
                main_loop_.post([this] {
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
    servers_open_ = servers().size();
    for (net::Server* const server : servers()) {
        server->shut_down(grace, [this] {
            main_loop_.post([this] {
                if (--servers_open_ == 0) stop_loops();
            });
        });
    }
}

void Host::stop_loops() {
    for (const auto& room : rooms_) room->loop->stop();
    main_loop_.stop();
}

void Host::wake() {
    std::promise<void> woken;
    main_loop_.post([&] {
        service_->wake();
        woken.set_value();
    });
    woken.get_future().wait();
    if (files_door_) files_door_->end_expired_sessions();
}

}  // namespace holdfast::app
