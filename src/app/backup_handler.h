#pragma once

// BackupHandler: `GET /v1/backup`, the database as a file, for whoever has the admin's token: the
// copy holds the secrets of all leases.
//
// The copy is made beside the database on a thread that may wait for disks, has no name by the time
// it is sent, and is gone afterwards, whatever happens.
//
// Thread safety: one per loop.

#include <string>
#include <string_view>

#include "base/work_pool.h"
#include "net/event_loop.h"
#include "net/http_protocol.h"

namespace holdfast::app {

class BackupHandler final : public net::HttpHandler {
  public:
    // Both outlive the handler; the pool has ended before the loop goes.
    struct Parts {
        net::EventLoop& loop;
        base::WorkPool& disk;
        std::string database_path;  // empty: nothing is kept
    };

    explicit BackupHandler(Parts parts) : parts_(std::move(parts)) {}

    [[nodiscard]] static bool is_backup_path(std::string_view path) { return path == "/v1/backup"; }

    void handle(const net::HttpRequest& request, net::HttpReply& reply) override;

  private:
    const Parts parts_;
};

}  // namespace holdfast::app
