#include "doors/hengdang/hengdang_door.h"

#include <set>
#include <utility>

#include "base/check.h"
#include "base/log/log.h"
#include "service/doors.h"

namespace holdfast::doors::hengdang {

namespace {

constexpr std::size_t reader_count = 4;
// A writer mostly waits for the disk; several share one flush of the disk.
constexpr std::size_t writer_count = 16;
constexpr std::size_t page_size = 1000;

}  // namespace

std::string_view to_text(FileOperation operation) {
    switch (operation) {
        case FileOperation::put: return "put";
        case FileOperation::patch: return "patch";
        case FileOperation::get: return "get";
        case FileOperation::list: return "list";
        case FileOperation::remove: return "delete";
        case FileOperation::make_directory: return "make_directory";
        case FileOperation::remove_directory: return "remove_directory";
        case FileOperation::lock: return "lock";
        case FileOperation::session: return "session";
        case FileOperation::events: return "events";
        case FileOperation::other: return "other";
    }
    CHECK(false);
}

HengdangDoor::HengdangDoor(HengdangOptions options, HengdangParts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      locks_({.port = parts_.port,
              .executor = parts_.executor,
              .clock = parts_.clock,
              .times = times_,
              .holds = holds_}) {}

base::Result<std::unique_ptr<HengdangDoor>> HengdangDoor::open(HengdangOptions options,
                                                               HengdangParts parts) {
    std::unique_ptr<HengdangDoor> door(new HengdangDoor(std::move(options), std::move(parts)));
    TRY(door->open_tree());
    door->release_locks_of_ended_sessions();
    door->readers_ = std::make_unique<base::WorkPool>(reader_count);
    door->writers_ = std::make_unique<base::WorkPool>(writer_count);
    return door;
}

base::Result<void> HengdangDoor::open_tree() {
    TRY(tree_, files::FileTree::open(
                   {.root = options_.root,
                    .quota_bytes = options_.quota_bytes,
                    .file_bytes_max = options_.file_bytes_max,
                    .on_change = [this](const files::Change& change) { changes_.publish(change); }},
                   parts_.clock));
    TRY(sessions_, files::SessionBook::open(tree_->own_folder()));
    TRY(used_events_, files::UsedEvents::open(tree_->own_folder()));
    return {};
}

// Does not wait for the answers: the locks are free before the first request can ask for one.
void HengdangDoor::release_locks_of_ended_sessions() {
    remove_expired_sessions();
    std::set<std::string, std::less<>> live;
    for (const files::Session& session : sessions_->list(wall_now())) live.insert(session.name);
    std::vector<core::Token> ended;
    core::Fence after{};
    for (bool has_more = true; has_more;) {
        const service::ListLeases page{
            .query = {.kind = core::ScopeKind::path, .after = after, .limit = page_size}};
        const service::Response* const response = parts_.port.submit(page);
        CHECK(response != nullptr);  // a listing is answered at once
        for (const core::LeaseView& lease : response->leases()) {
            after = lease.token.fence;
            if (lease.owner.door != service::hengdang_door) continue;
            if (!live.contains(lease.owner.name)) ended.push_back(lease.token);
        }
        has_more = response->leases().size() == page_size;
    }
    for (const core::Token& token : ended) {
        ask(parts_.port, core::ReleaseRequest{.token = token}, [](const service::Response&) {});
    }
}

void HengdangDoor::listen_at(const net::Endpoint& endpoint) {
    own_urls_ = OwnUrls({.named = options_.urls, .endpoint = endpoint, .has_tls = parts_.has_tls});
}

void HengdangDoor::close() {
    locks_.close();
    readers_.reset();
    writers_.reset();
}

std::vector<files::Session> HengdangDoor::remove_expired_sessions() {
    auto expired = sessions_->remove_expired(wall_now());
    if (expired.failure) {
        base::log(base::LogLevel::warning, "expired sessions stay on disk",
                  {{"count", expired.failed_count}, {"error", expired.failure->message}});
    }
    return std::move(expired.removed);
}

void HengdangDoor::end_expired_sessions() {
    for (const files::Session& session : remove_expired_sessions()) {
        locks_.release_all(session.name);
    }
}

void HengdangDoor::tend() {
    const auto next = sessions_->next_expiry();
    if (!next || *next > wall_now()) return;
    writers_->run([this] { end_expired_sessions(); });
}

base::Result<bool> HengdangDoor::end_session(const std::string& name) {
    TRY(const bool has_ended, sessions_->end(name));
    if (has_ended) locks_.release_all(name);
    return has_ended;
}

FileFigures HengdangDoor::figures() {
    FileFigures figures = counts_.so_far();
    figures.sessions = sessions_->list(wall_now()).size();
    figures.quota_bytes = options_.quota_bytes;
    figures.used_bytes = tree_->used_bytes();
    return figures;
}

}  // namespace holdfast::doors::hengdang
