#include "dialects/hengdang/write_permit.h"

#include <utility>

#include "service/doors.h"

namespace holdfast::dialects::hengdang {

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
            then({});
        });
}

LeaseDesk::Shown WritePermit::shown(const files::FileInfo* current) const {
    return {.token = *terms_.lock_token,
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

WritePermit::Objection WritePermit::judge(const files::FileInfo* current) const {
    if (auto objection = look_ahead(current); objection || terms_.lock_token) return objection;
    return place_.door.desk().keep({.token = *lock_, .path = terms_.path});
}

void WritePermit::give_back(bool has_written, std::function<void()> then) {
    if (terms_.lock_token) return then();
    const auto spent = place_.door.holds().leave(key(), has_written);
    if (!spent) return then();
    // One that somebody has asked for would be there again after a restart, if this were not on
    // disk.
    const auto until = spent->is_automatic ? LeaseDesk::Until::done : LeaseDesk::Until::on_disk;
    place_.door.desk().release(spent->token, until, std::move(then));
}

}  // namespace holdfast::dialects::hengdang
