#include "app/loop_parts.h"

#include <algorithm>
#include <utility>

#include "app/http/documents.h"
#include "app/http/history_handler.h"
#include "app/http/http_router.h"
#include "app/http/session_handler.h"
#include "app/http/status_handler.h"
#include "doors/hengdang/hengdang_handler.h"
#include "doors/homelab/homelab_handler.h"
#include "doors/lockserver/lockserver_handler.h"
#include "doors/scoped/scoped_handler.h"
#include "doors/terraform/terraform_handler.h"

namespace holdfast::app {

namespace {

std::unique_ptr<doors::scoped::ElectionWatches> make_elections(const SharedParts& shared,
                                                               const LoopParts& parts,
                                                               service::Executor& here) {
    const service::ElectionReader::Parts reader{
        .port = *parts.port, .feed = shared.event_feed, .here = here};
    return std::make_unique<doors::scoped::ElectionWatches>(reader, *parts.loop, shared.clock);
}

// Where pages find the file door.
FilesPlace find_files(const ServeOptions& options, const std::vector<ListenerFigures>& listeners) {
    FilesPlace place{.urls = options.files.urls, .has_tls = !options.tls.certificate_file.empty()};
    for (const ListenerFigures& listener : listeners) {
        const bool is_files = listener.name == std::string_view("files");
        if (is_files && !listener.endpoint.is_unix()) place.port = listener.endpoint.port();
    }
    return place;
}

// Bytes of bodies that are arriving at one listener. The largest body has room in any case.
std::size_t budget_of(const ServeOptions& options) {
    constexpr std::size_t arriving_bytes_max = std::size_t{64} << 20U;
    return std::max(arriving_bytes_max, 2 * options.http_body_bytes_max);
}

net::HttpLimits limits_of(const ServeOptions& options, net::BodyBudget& bodies) {
    return {.body_bytes_max = options.http_body_bytes_max,
            .body_pace = {.grace = options.http_request_timeout,
                          .bytes_per_second_min = options.files_pace_min},
            .bodies = &bodies,
            .needs_host = true};
}

}  // namespace

ListenerLimits::ListenerLimits(const ServeOptions& options)
    : http_bodies(budget_of(options)),
      files_bodies(budget_of(options)),
      status_bodies(budget_of(options)),
      http(limits_of(options, http_bodies)),
      files(limits_of(options, files_bodies)),
      status(limits_of(options, status_bodies)) {}

LoopParts::LoopParts(const SharedParts& shared, bool has_own_loop)
    : loop(&shared.main_loop),
      port(&shared.service),
      http_limits(shared.http_limits),
      dflockd_door(shared.dflockd_door),
      redis_door(shared.redis_door),
      files(shared.origins, "the files are not open yet") {
    service::Executor* loop_executor = &shared.main_executor;
    if (has_own_loop) {
        own_loop = std::make_unique<net::EventLoop>();
        loop = own_loop.get();
        executor = std::make_unique<LoopExecutor>(*loop);
        remote_port =
            std::make_unique<service::RemotePort>(*executor, shared.main_executor, shared.service);
        port = remote_port.get();
        loop_executor = executor.get();
    }
    const ServeOptions& options = shared.options;
    homelab =
        std::make_unique<doors::homelab::HomelabHandler>(options.homelab, *port, shared.clock);
    streams = std::make_unique<doors::lockserver::EventStreams>(shared.event_feed, *loop_executor,
                                                                *loop, shared.clock);
    lockserver =
        std::make_unique<doors::lockserver::LockserverHandler>(*port, *streams, shared.clock);
    elections = make_elections(shared, *this, *loop_executor);
    scoped = std::make_unique<doors::scoped::ScopedHandler>(options.scoped, *port, *elections,
                                                            shared.clock);
    terraform = std::make_unique<doors::terraform::TerraformHandler>(shared.terraform_door, *loop);
    status = std::make_unique<StatusHandler>(StatusHandler::Parts{
        .port = *port,
        .store = shared.store,
        .options = options,
        .count_connections = shared.count_connections,
        .cluster = shared.cluster,
        .count_files =
            [this] { return files_door ? std::optional(files_door->figures()) : std::nullopt; },
        .tokens = shared.tokens,
        .count_requests = shared.count_requests,
        .count_certificates = shared.count_certificates});
    sessions = std::make_unique<SessionHandler>(SessionHandler::Parts{
        .port = *port, .loop = *loop, .clock = shared.clock, .files = files_door});
    backup = std::make_unique<BackupHandler>(
        BackupHandler::Parts{.loop = *loop,
                             .disk = shared.disk,
                             .slots = shared.backup_slots,
                             .database_path = has_database(options) ? database_file(options) : ""});
    history = std::make_unique<HistoryHandler>(
        HistoryHandler::Parts{.loop = *loop, .store = shared.store, .feed = shared.event_feed});
    documents = std::make_unique<DocumentHandler>(
        [&options, count = shared.count_connections] { return find_files(options, count()); });
    cluster = std::make_unique<ClusterHandler>(shared.cluster, *loop, *port);
    router = std::make_unique<HttpRouter>(http_routes({.homelab = *homelab,
                                                       .lockserver = *lockserver,
                                                       .scoped = *scoped,
                                                       .terraform = *terraform,
                                                       .status = *status,
                                                       .sessions = *sessions,
                                                       .backup = *backup,
                                                       .history = *history,
                                                       .documents = *documents,
                                                       .cluster = *cluster}),
                                          HttpGate(shared.tokens, shared.host_names));
    node = std::make_unique<NodeHandler>(shared.cluster);
    node_router = std::make_unique<HttpRouter>(node_routes(*status, *node),
                                               HttpGate(shared.tokens, shared.host_names));
}

LoopParts::~LoopParts() = default;

void LoopParts::open_files(const std::shared_ptr<doors::hengdang::HengdangDoor>& door) {
    files_door = door;
    files_handler = std::make_shared<doors::hengdang::HengdangHandler>(
        doors::hengdang::HengdangContext{.door = door, .loop = *loop, .port = *port});
    files.open(files_handler);
}

void LoopParts::break_off_states() {
    terraform->break_off();
}

// What the handler has posted to the loop runs before the turn that destroys it.
void LoopParts::close_files(const std::string& why) {
    files.close(why);
    files_door.reset();
    if (!files_handler) return;
    files_handler->close();
    loop->post([gone = std::exchange(files_handler, nullptr)] {});
}

}  // namespace holdfast::app
