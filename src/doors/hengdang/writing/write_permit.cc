#include "doors/hengdang/writing/write_permit.h"

#include <utility>

#include "service/doors.h"

namespace holdfast::doors::hengdang {

void WritePermit::ask_for(std::function<void(Objection)> then) {
    if (terms_.lock_token) return then({});
    HengdangDoor& door = place_.door;
    door.holds().enter(key());
    const core::AcquireRequest request{
        .scope = core::Scope::path(terms_.path),
        .owner = {.door = service::hengdang_door, .name = terms_.session_name},
        .ttl = lock_time,
        .renew_own = true,
        .is_transient = true};  // the request that it is for ends with the server, too
    ask(place_.port, request,
        [this, &door, then = std::move(then)](const service::Response& response) {
            const bool is_new = response.outcome.kind == core::Outcome::Kind::granted;
            const bool is_own = response.outcome.kind == core::Outcome::Kind::renewed;
            if (!response.failure.empty() || (!is_new && !is_own)) {
                return then(refuse_lock(response, door.times(), door.clock()));
            }
            lock_ = response.outcome.lease.token;
            door.holds().take(key(), *lock_, is_new);
            // If the session has ended since, its locks were released without this one.
            const bool is_live = door.sessions().is_live(terms_.session_name, door.wall_now());
            then(is_live ? Objection{} : refuse(NoSession::unknown));
        });
}

LeaseDesk::Shown WritePermit::shown(const files::FileInfo* current) const {
    return {.token = *terms_.lock_token,
            .session_name = terms_.session_name,
            .path = terms_.path,
            .inode_number = current == nullptr ? 0 : current->inode_number,
            .range = terms_.range};
}

WritePermit::Objection WritePermit::look_ahead(const files::FileInfo* current) const {
    if (const auto broken = find_broken(terms_.conditions, current)) {
        return refuse_precondition(*broken, current == nullptr ? "" : current->etag());
    }
    if (!terms_.lock_token) return {};
    return place_.door.desk().check(shown(current));
}

WritePermit::Objection WritePermit::check(const files::FileInfo* current) const {
    HengdangDoor& door = place_.door;
    if (!door.sessions().is_live(terms_.session_name, door.wall_now())) {
        return refuse(NoSession::unknown);
    }
    if (auto objection = look_ahead(current); objection || terms_.lock_token) return objection;
    return door.desk().keep({.token = *lock_, .path = terms_.path});
}

WritePermit::Commit::Commit(const WritePermit& permit) : permit_(permit) {
    const Terms& terms = permit.terms_;
    if (terms.lock_token) turn_.emplace(permit.place_.door.token_gates().enter(terms.path));
}

WritePermit::Commit::~Commit() {
    if (has_entered_) permit_.place_.door.desk().leave(permit_.key(), false, [] {});
}

WritePermit::Objection WritePermit::Commit::judge(const files::FileInfo* current) {
    HengdangDoor& door = permit_.place_.door;
    const Terms& terms = permit_.terms_;
    if (!change_) {
        auto change = door.sessions().begin_change(terms.session_name, door.wall_now());
        if (!change) return refuse(NoSession::unknown);
        change_.emplace(std::move(*change));
    }
    if (auto objection = permit_.check(current); objection || !terms.lock_token) return objection;
    if (!std::exchange(has_entered_, true)) door.holds().enter(permit_.key());
    return door.desk().borrow(permit_.shown(current));
}

void WritePermit::give_back(bool has_written, std::function<void()> then) {
    if (terms_.lock_token) return then();
    place_.door.desk().leave(key(), has_written, std::move(then));
}

}  // namespace holdfast::doors::hengdang
