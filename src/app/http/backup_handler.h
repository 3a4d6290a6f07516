#pragma once

// BackupHandler: `GET /v1/backup`, the database as a file. It needs the admin token, because the
// copy contains the secrets of all leases.
//
// The copy is made beside the database, on a thread that may wait for disks. It is unlinked before
// it is sent, so it disappears whatever happens. Each copy takes as much disk as the database until
// its client has received it. So only a few are made and sent at the same time; further requests
// are answered 503.
//
// Thread safety: one handler per loop. BackupSlots may be used from any thread.

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "app/http/json_replies.h"
#include "base/work_pool.h"
#include "net/loop/event_loop.h"

namespace holdfast::app {

// BackupSlots: limits how many copies exist at a time in the whole server. All loops share it.
class BackupSlots {
  public:
    static constexpr std::size_t count_max = 2;

    // Takes a slot, which is free again when the last copy of the pointer is gone; null if none is
    // free.
    [[nodiscard]] std::shared_ptr<const void> take() const;

  private:
    // Shared with the slots that are taken, which may outlive this object.
    const std::shared_ptr<std::atomic<std::size_t>> used_ =
        std::make_shared<std::atomic<std::size_t>>(0);
};

class BackupHandler final : public JsonHandler {
  public:
    // All outlive the handler. The pool ends before the loop does.
    struct Parts {
        net::EventLoop& loop;
        base::WorkPool& disk;
        const BackupSlots& slots;
        std::string database_path;  // empty: nothing is on disk
    };

    explicit BackupHandler(Parts parts) : parts_(std::move(parts)) {}

    [[nodiscard]] static std::span<const net::Route> routes();

    void handle(const net::RoutedRequest& request, net::HttpReply& reply) override;

  private:
    const Parts parts_;
};

}  // namespace holdfast::app
