#include "app/http/backup_handler.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/descriptor.h"
#include "base/log/log.h"
#include "store/backup.h"

namespace holdfast::app {

namespace {

constexpr net::Route backup_routes[] = {
    {"GET", "/v1/backup", net::Privilege::administer, net::BodyPolicy::ignored, "backup",
     net::RouteAction(), net::Reach::everything,
     "a backup holds all secrets: it needs the admin token"},
};

constexpr std::size_t piece_bytes = std::size_t{256} * 1024;

// Makes a copy of the database without a name: it disappears when it is closed.
base::Result<base::Descriptor> copy_of(const std::string& database_path) {
    static std::atomic<std::uint64_t> count = 0;
    const std::string path =
        database_path + ".backup-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
    TRY(store::back_up(database_path, path));
    base::Descriptor copy(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ::unlink(path.c_str());
    if (!copy) return base::fail(std::string("cannot open the copy: ") + std::strerror(errno));
    return copy;
}

// Sends a file piece by piece, as fast as the client receives it. Owns itself until it is done.
class Sending : public std::enable_shared_from_this<Sending> {
  public:
    Sending(base::Descriptor file, net::StreamedReply reply, std::shared_ptr<const void> slot)
        : slot_(std::move(slot)), file_(std::move(file)), reply_(std::move(reply)) {}

    // The file was written just now and is in the page cache: reading does not wait for a disk.
    void send_some() {
        std::array<char, piece_bytes> piece;
        ssize_t bytes = 0;
        do {
            bytes = ::read(file_.get(), piece.data(), piece.size());
        } while (bytes < 0 && errno == EINTR);
        if (bytes <= 0 || !reply_) return reply_.end();
        reply_.send({piece.data(), static_cast<std::size_t>(bytes)});
        reply_.call_when_sent([self = shared_from_this()] { self->send_some(); });
    }

  private:
    const std::shared_ptr<const void> slot_;
    base::Descriptor file_;
    net::StreamedReply reply_;
};

void send(base::Result<base::Descriptor> copy, net::DeferredReply& reply,
          std::shared_ptr<const void> slot) {
    struct stat status {};
    if (copy && ::fstat(copy->get(), &status) != 0) copy = base::fail("cannot measure the copy");
    if (!copy) {
        base::log(base::LogLevel::error, "backup failed", {{"error", copy.error().message}});
        return reply.send(503, json_type, json_error(copy.error().message));
    }
    base::log(base::LogLevel::info, "backup", {{"bytes", std::uint64_t(status.st_size)}});
    const net::HttpHeader headers[] = {
        {"Content-Disposition", "attachment; filename=\"holdfast-backup.db\""},
        {"Cache-Control", "no-store"}};
    auto stream = reply.stream(200, "application/vnd.sqlite3", headers,
                               {.length = static_cast<std::uint64_t>(status.st_size)});
    std::make_shared<Sending>(std::move(*copy), std::move(stream), std::move(slot))->send_some();
}

}  // namespace

std::shared_ptr<const void> BackupSlots::take() const {
    if (used_->fetch_add(1) >= count_max) {
        used_->fetch_sub(1);
        return nullptr;
    }
    return {used_.get(), [used = used_](const void*) { used->fetch_sub(1); }};
}

std::span<const net::Route> BackupHandler::routes() {
    return backup_routes;
}

void BackupHandler::handle(const net::RoutedRequest& /*request*/, net::HttpReply& reply) {
    if (parts_.database_path.empty()) {
        return reply.send(409, json_type,
                          json_error("this server has no database: its locks are in memory "
                                     "(--memory), or in etcd (--cluster), which has backups of its "
                                     "own: etcdctl snapshot save"));
    }
    auto slot = parts_.slots.take();
    if (!slot) {
        return reply.send(503, json_type,
                          json_error("other backups are being made or sent; ask again later"),
                          {{"Retry-After", "5"}});
    }
    const auto later = std::make_shared<net::DeferredReply>(reply.defer());
    parts_.disk.run(
        [&loop = parts_.loop, path = parts_.database_path, later, slot = std::move(slot)] {
            const auto copy = std::make_shared<base::Result<base::Descriptor>>(copy_of(path));
            loop.post([later, copy, slot] { send(std::move(*copy), *later, slot); });
        });
}

}  // namespace holdfast::app
