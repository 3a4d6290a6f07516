#pragma once

// Host: the whole server in one object: loops, service, store and doors, wired.
//
// With one thread everything runs on one loop and requests reach the lock table without a hop. With
// more, a loop of its own owns the table, and each I/O loop talks to it through a RemotePort.
//
// Thread safety: shut_down() and wake() from any thread; run() once.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/cluster/node.h"
#include "app/credentials.h"
#include "app/doors.h"
#include "app/files_keeper.h"
#include "app/http/backup_handler.h"
#include "app/http/host_names.h"
#include "app/http/metrics_text.h"
#include "app/loop_parts.h"
#include "app/serve_options.h"
#include "base/work_pool.h"
#include "net/loop/event_loop.h"
#include "net/loop/loop_timer.h"
#include "net/loop/server.h"
#include "service/events/event_feed.h"
#include "service/events/event_log.h"
#include "service/lock_service.h"
#include "service/ports/clock.h"
#include "service/store.h"

namespace holdfast::app {

class Host {
  public:
    // Binds the listeners, so that clients may connect although nothing is answered before run().
    // `clock` outlives the host.
    [[nodiscard]] static base::Result<std::unique_ptr<Host>> start(const ServeOptions& options,
                                                                   service::Clock& clock);
    ~Host();

    // Where a door of doors.h listens; null if it is switched off.
    [[nodiscard]] const net::Endpoint* find_endpoint(std::string_view door) const;
    // REQUIRES: the door is open.
    [[nodiscard]] const net::Endpoint& endpoint(std::string_view door) const;
    // For each open door its name and its address, such as `https 127.0.0.1:8443`.
    [[nodiscard]] std::vector<std::string> describe_listeners(char between = ' ') const;

    // The loop that run() runs: for signals.
    [[nodiscard]] net::EventLoop& main_loop() { return *main_loop_; }

    // Serves until shut_down() is complete.
    void run();
    // Why the server has shut itself down; empty: it was told to. After run().
    [[nodiscard]] const std::string& failure() const { return failure_; }

    // Reads tokens, certificates and the password of etcd again. The tokens hold for everything that
    // happens after this, certificates and password for new connections. If one of the files is not
    // good, everything stays as it was. REQUIRES: this is the thread of the main loop.
    [[nodiscard]] base::Result<void> reload();

    // Ends the server in two steps. First everybody who waits for a lock is told to ask again
    // later; renewals and releases are answered, on new connections, too, until what was in flight
    // is done. Then it stops accepting, closes, and lets run() return. Further calls do nothing.
    void shut_down();

    // Tells the service that its clock has moved, and returns when everything due has happened.
    // REQUIRES: run() is running, on another thread.
    void wake();

  private:
    // A door that is open.
    struct Listening {
        const Door* door;
        std::unique_ptr<net::Server> server;
    };

    // What is opened before everything else.
    struct Foundation {
        std::unique_ptr<Credentials> credentials;
        std::unique_ptr<net::EventLoop> main_loop;
        std::unique_ptr<ClusterNode> node;  // null: the server stands alone
        std::unique_ptr<service::Store> store;
    };

    Host(const ServeOptions& options, service::Clock& clock, Foundation foundation);
    base::Result<void> recover();
    base::Result<void> open_listeners();
    base::Result<void> open_files();
    [[nodiscard]] SharedParts shared_parts();
    LoopParts& parts_of(const net::EventLoop& loop);
    [[nodiscard]] std::vector<net::EventLoop*> loops() const;
    void on_rights_changed();
    void stop_serving_states();
    void close_doors();
    void close_one();
    void stop_loops();
    [[nodiscard]] std::vector<ListenerFigures> count_connections() const;
    [[nodiscard]] std::vector<ListenerRequests> count_requests() const;
    [[nodiscard]] std::vector<CertificateFigures> count_certificates() const;

    const ServeOptions options_;
    service::Clock& clock_;
    const std::unique_ptr<Credentials> credentials_;
    const HostNames host_names_;
    doors::hengdang::Origins origins_;
    std::unique_ptr<FilesKeeper> files_;  // null: the file door is switched off
    const std::unique_ptr<net::EventLoop> main_loop_;
    net::LoopTimer overlap_timer_;             // when the next token ends that was replaced
    const std::unique_ptr<ClusterNode> node_;  // null: the server stands alone
    const ClusterControl alone_;               // what can be asked of the cluster then: nothing
    std::unique_ptr<service::Executor> main_executor_;
    service::EventLog event_log_;
    service::EventFeed event_feed_;
    std::unique_ptr<service::Store> store_;
    std::unique_ptr<service::LockService> service_;
    std::unique_ptr<base::WorkPool> disk_;  // for what must not keep a loop waiting
    const BackupSlots backup_slots_;
    const ListenerLimits http_limits_;
    doors::dflockd::DflockdDoor dflockd_door_;
    std::unique_ptr<doors::terraform::TerraformDoor> terraform_door_;
    doors::redis::RedisDoor redis_door_;
    std::vector<std::unique_ptr<LoopParts>> loops_;
    std::vector<Listening> listeners_;
    // While shutting down, on the main loop:
    bool is_shutting_down_ = false;
    bool is_closing_ = false;
    std::size_t servers_busy_ = 0;               // with what was in flight
    std::size_t parts_open_ = 0;                 // after that: servers, and the node
    std::unique_ptr<net::LoopTimer> end_timer_;  // after so long nothing is waited for
    net::EventLoop::TimePoint end_at_;
    std::string failure_;  // why the node cannot be a part of its cluster
};

}  // namespace holdfast::app
