#include "doors/hengdang/hengdang_door.h"

#include <algorithm>
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
constexpr std::size_t sweep_page_size = 1000;

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
      parts_(parts),
      locks_({.port = parts_.port,
              .executor = parts_.executor,
              .clock = parts_.clock,
              .times = times_,
              .holds = holds_}) {}

base::Result<std::shared_ptr<HengdangDoor>> HengdangDoor::open(HengdangOptions options,
                                                               HengdangParts parts,
                                                               base::WorkPool& grave) {
    std::unique_ptr<HengdangDoor> fresh(new HengdangDoor(std::move(options), parts));
    TRY(fresh->open_tree());
    fresh->remove_expired_sessions();
    fresh->readers_ = std::make_unique<base::WorkPool>(reader_count);
    fresh->writers_ = std::make_unique<base::WorkPool>(writer_count);
    const auto bury = [&grave](HengdangDoor* door) { grave.run([door] { delete door; }); };
    return std::shared_ptr<HengdangDoor>(fresh.release(), bury);
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

struct HengdangDoor::Sweep {
    std::set<std::string, std::less<>> live;  // the names of sessions
    std::function<void(const base::Result<void>&)> then;
};

void HengdangDoor::release_locks_of_ended_sessions(
    std::function<void(const base::Result<void>&)> then) {
    const auto sweep = std::make_shared<Sweep>();
    for (const files::Session& session : sessions_->list(wall_now())) {
        sweep->live.insert(session.name);
    }
    sweep->then = std::move(then);
    release_locks_after(core::Fence{}, sweep);
}

// One page of leases after the other. Does not wait for the answers of the releases: who asks for
// the locks after this finds them free.
void HengdangDoor::release_locks_after(core::Fence after,
                                       const std::shared_ptr<const Sweep>& sweep) {
    const service::ListLeases page{
        .query = {.kind = core::ScopeKind::path, .after = after, .limit = sweep_page_size}};
    ask(parts_.port, page, [self = shared_from_this(), sweep](const service::Response& response) {
        if (!response.failure.empty()) {
            return sweep->then(base::fail(std::string(response.failure)));
        }
        std::vector<core::Token> ended;
        core::Fence last{};
        for (const core::LeaseView& lease : response.leases()) {
            last = lease.token.fence;
            if (lease.owner.door != service::hengdang_door) continue;
            if (!sweep->live.contains(lease.owner.name)) ended.push_back(lease.token);
        }
        const bool has_more = response.leases().size() == sweep_page_size;
        for (const core::Token& token : ended) {
            ask(self->parts_.port,
                core::ReleaseRequest{.token = token, .cause = core::Cause::session_end},
                [](const service::Response&) {});
        }
        has_more ? self->release_locks_after(last, sweep) : sweep->then({});
    });
}

void HengdangDoor::listen_at(const net::Endpoint& endpoint) {
    own_urls_ = OwnUrls({.named = options_.urls, .endpoint = endpoint, .has_tls = parts_.has_tls});
}

bool HengdangDoor::is_reached_by_tls() const {
    return parts_.has_tls || std::ranges::any_of(options_.urls, [](const std::string& url) {
               return url.starts_with("https://");
           });
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
        locks_.release_all(session.name, "");
    }
}

void HengdangDoor::tend() {
    const auto next = sessions_->next_expiry();
    if (!next || *next > wall_now()) return;
    writers_->run([self = shared_from_this()] { self->end_expired_sessions(); });
}

base::Result<files::SessionBook::NewSession> HengdangDoor::begin_session(
    const files::NewLogin& login) {
    TRY(auto made, sessions_->create(login, wall_now()));
    if (made.replaced) {
        base::log(base::LogLevel::info, "a session has taken the place of another one",
                  {{"owner", login.owner},
                   {"name", made.session.name},
                   {"replaced", made.replaced->name}});
        locks_.release_all(made.replaced->name, "");
    }
    return made;
}

base::Result<bool> HengdangDoor::log_out(const std::string& name, const std::string& by) {
    TRY(const bool has_ended, sessions_->end(name));
    if (has_ended) locks_.release_all(name, by);
    return has_ended;
}

base::Result<bool> HengdangDoor::end_session(const std::string& name, const std::string& by) {
    TRY(const bool has_ended, log_out(name, by));
    if (has_ended) locks_.tell_ended(name, by);
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
