#pragma once

// BackupHandler: `GET /v1/backup`, the database as a file, for whoever has the admin's token: the
// copy holds the secrets of all leases.
//
// The copy is made beside the database on a thread that may wait for disks, has no name by the time
// it is sent, and is gone afterwards, whatever happens. Each copy takes as much disk as the
// database until its reader has it all, so few are made and sent at the same time; further requests
// are answered 503.
//
// Thread safety: one handler per loop; BackupSlots from any thread.

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/work_pool.h"
#include "net/http/http_protocol.h"
#include "net/loop/event_loop.h"

namespace holdfast::app {

// BackupSlots: how many copies of the whole server may exist. All of its loops share it.
class BackupSlots {
  public:
    static constexpr std::size_t count_max = 2;

    // One of them, free again when the last copy of the pointer is gone; null if none is free.
    [[nodiscard]] std::shared_ptr<const void> take() const;

  private:
    // Kept by those who have a slot, too: they may outlive this.
    const std::shared_ptr<std::atomic<std::size_t>> used_ =
        std::make_shared<std::atomic<std::size_t>>(0);
};

class BackupHandler final : public net::HttpHandler {
  public:
    // All outlive the handler; the pool has ended before the loop goes.
    struct Parts {
        net::EventLoop& loop;
        base::WorkPool& disk;
        const BackupSlots& slots;
        std::string database_path;  // empty: nothing is kept
    };

    explicit BackupHandler(Parts parts) : parts_(std::move(parts)) {}

    [[nodiscard]] static bool is_backup_path(std::string_view path) { return path == "/v1/backup"; }

    void handle(const net::HttpRequest& request, net::HttpReply& reply) override;

  private:
    const Parts parts_;
};

}  // namespace holdfast::app
