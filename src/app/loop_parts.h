#pragma once

// LoopParts: what one I/O loop of the server has for itself: its way to the service, and the
// handlers of the doors that speak on it.
//
// Thread safety: on the loop's thread, but for the constructor.

#include <functional>
#include <memory>
#include <vector>

#include "app/cluster/cluster_handler.h"
#include "app/credentials.h"
#include "app/http/backup_handler.h"
#include "app/http/host_names.h"
#include "app/http/metrics_text.h"
#include "app/loop_executor.h"
#include "app/serve_options.h"
#include "doors/dflockd/dflockd_door.h"
#include "doors/hengdang/door_gate.h"
#include "doors/hengdang/hengdang_door.h"
#include "doors/lockserver/event_streams.h"
#include "doors/redis/redis_door.h"
#include "doors/scoped/election_watches.h"
#include "doors/terraform/terraform_door.h"
#include "net/http/http_protocol.h"
#include "net/loop/event_loop.h"
#include "service/events/event_feed.h"
#include "service/lock_service.h"
#include "service/ports/remote_port.h"

namespace holdfast::doors::homelab {
class HomelabHandler;
}
namespace holdfast::doors::lockserver {
class LockserverHandler;
}
namespace holdfast::doors::scoped {
class ScopedHandler;
}
namespace holdfast::doors::terraform {
class TerraformHandler;
}
namespace holdfast::doors::hengdang {
class HengdangHandler;
}

namespace holdfast::app {

class DocumentHandler;
class HistoryHandler;
class HttpRouter;
class SessionHandler;
class StatusHandler;

// Of the listeners that speak HTTP. Each has a budget of its own for the bodies that arrive there.
struct ListenerLimits {
    explicit ListenerLimits(const ServeOptions& options);
    ListenerLimits(const ListenerLimits&) = delete;  // the limits point to the budgets

    net::BodyBudget http_bodies, files_bodies, status_bodies;
    net::HttpLimits http, files, status;
};

// What the loops of a server share. All of it outlives them.
struct SharedParts {
    const ServeOptions& options;
    const service::Clock& clock;
    const TokenSource& tokens;
    const HostNames& host_names;
    const ListenerLimits& http_limits;
    net::EventLoop& main_loop;
    service::Executor& main_executor;
    service::LockService& service;
    service::EventFeed& event_feed;
    service::Store& store;
    base::WorkPool& disk;
    const BackupSlots& backup_slots;
    const doors::hengdang::Origins& origins;  // of the pages that may use the files
    doors::dflockd::DflockdDoor& dflockd_door;
    doors::redis::RedisDoor& redis_door;
    doors::terraform::TerraformDoor& terraform_door;
    std::function<std::vector<ListenerFigures>()> count_connections;
    std::function<std::vector<ListenerRequests>()> count_requests;
    std::function<std::vector<CertificateFigures>()> count_certificates;
    const ClusterControl& cluster;
};

struct LoopParts {
    // With `has_own_loop` the parts run on a loop of their own, otherwise on the main loop.
    LoopParts(const SharedParts& shared, bool has_own_loop);
    ~LoopParts();

    // Serves files from now on. REQUIRES: it does not.
    void open_files(const std::shared_ptr<doors::hengdang::HengdangDoor>& door);
    // Refuses requests for files from now on, for the reason, and drops this loop's share of the
    // door. Does nothing more if it was closed.
    void close_files(const std::string& why);
    // Breaks off the uploads of Terraform's states: this node does not lead any more.
    void break_off_states();

    std::unique_ptr<net::EventLoop> own_loop;          // absent: the main loop serves itself
    std::unique_ptr<LoopExecutor> executor;            // with own_loop
    std::unique_ptr<service::RemotePort> remote_port;  // with own_loop
    net::EventLoop* loop;
    service::Port* port;
    const ListenerLimits& http_limits;
    doors::dflockd::DflockdDoor& dflockd_door;
    doors::redis::RedisDoor& redis_door;
    std::shared_ptr<doors::hengdang::HengdangDoor> files_door;  // null: closed, or there is none
    std::unique_ptr<doors::homelab::HomelabHandler> homelab;
    std::unique_ptr<doors::lockserver::EventStreams> streams;
    std::unique_ptr<doors::lockserver::LockserverHandler> lockserver;
    std::unique_ptr<doors::scoped::ElectionWatches> elections;
    std::unique_ptr<doors::scoped::ScopedHandler> scoped;
    std::unique_ptr<doors::terraform::TerraformHandler> terraform;
    std::unique_ptr<StatusHandler> status;
    std::unique_ptr<SessionHandler> sessions;
    std::unique_ptr<BackupHandler> backup;
    std::unique_ptr<HistoryHandler> history;
    std::unique_ptr<DocumentHandler> documents;
    std::unique_ptr<ClusterHandler> cluster;
    std::unique_ptr<HttpRouter> router;  // for all of these
    std::unique_ptr<NodeHandler> node;
    std::unique_ptr<HttpRouter> node_router;  // for status and node
    doors::hengdang::DoorGate files;
    std::shared_ptr<doors::hengdang::HengdangHandler> files_handler;  // null: they are closed
};

}  // namespace holdfast::app
