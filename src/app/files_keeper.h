#pragma once

// FilesKeeper: opens the file door of a server, and closes it.
//
// A server that stands alone opens the files at its start and has them until it ends. The nodes of a
// cluster share one root, and only the node that leads may have it open: it opens the root whenever
// it begins to lead, and closes it when it leads no more.
//
//     state     event                      next state, and what happens
//     -------   ------------------------   -------------------------------------------------------
//     away      lead()                     opening: a thread opens the root
//     opening   the root is open           open: locks of ended sessions are released, then the
//                                          loops serve files
//     opening   it cannot be opened        waiting: requests are refused with the reason
//     waiting   a moment has passed        opening
//     open      every second               open: sessions that have expired end
//     any       stop_leading()             away: requests are refused; the door ends when those
//                                          that are under way have ended
//
// The root cannot be opened while the node that has led before is not done with it. So nobody removes
// the temporary files of a server that is at work, and nobody releases the locks of its sessions.
//
// Thread safety: everything on the main loop, or while no loop runs.
// Lifetime: outlives all loops, because what was posted to them may own a share of the door. close()
// is called before they are destroyed.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/work_pool.h"
#include "doors/hengdang/hengdang_door.h"
#include "net/loop/event_loop.h"
#include "net/loop/loop_timer.h"
#include "net/sockets/endpoint.h"

namespace holdfast::app {

class FilesKeeper {
  public:
    using DoorPointer = std::shared_ptr<doors::hengdang::HengdangDoor>;

    // A loop that serves files. The functions are called on it, in their order.
    struct Server {
        net::EventLoop* loop;
        std::function<void(const DoorPointer&)> open;
        std::function<void(const std::string& why)> close;  // also while it is closed
    };
    struct Parts {
        doors::hengdang::HengdangOptions options;
        doors::hengdang::HengdangParts door;
        net::EventLoop& loop;  // the main loop
        std::vector<Server> servers;
    };
    explicit FilesKeeper(Parts parts);
    FilesKeeper(const FilesKeeper&) = delete;
    FilesKeeper& operator=(const FilesKeeper&) = delete;

    // Opens the door for good. REQUIRES: the service has recovered; no loop runs.
    [[nodiscard]] base::Result<void> open_now();

    // Tells where the door listens. REQUIRES: no loop runs.
    void listen_at(const net::Endpoint& endpoint);

    // This node leads, and its service has recovered.
    void lead();
    // Does nothing if it does not lead.
    void stop_leading();

    // The door; null: it is not open.
    [[nodiscard]] const DoorPointer& door() const { return door_; }

    // Lets the threads of all doors finish and end. REQUIRES: the loops have stopped and will not run
    // again; the service still exists.
    void close();

  private:
    void begin_opening();
    void on_opened(std::uint64_t attempt, base::Result<DoorPointer> opened);
    void serve(const DoorPointer& opened);
    void try_later(const std::string& why);
    void refuse_requests(const std::string& why);
    void on_timer();

    base::WorkPool grave_{1};  // where doors are destroyed; the last member to be destroyed
    const Parts parts_;
    std::optional<net::Endpoint> endpoint_;
    bool is_leading_ = false;
    std::uint64_t attempt_ = 0;  // to open the door; the result of an earlier one is dropped
    std::string trouble_;        // why the last attempt failed
    DoorPointer door_;
    std::vector<std::weak_ptr<doors::hengdang::HengdangDoor>> opened_;  // that may still exist
    std::unique_ptr<net::LoopTimer> timer_;
    std::unique_ptr<base::WorkPool> opener_;  // with lead()
};

}  // namespace holdfast::app
