#include "doors/hengdang/writing/write_permit.h"

#include <utility>

#include "doors/hengdang/admission.h"
#include "service/doors.h"

namespace holdfast::doors::hengdang {

WritePermit::Objection WritePermit::look_ahead() const {
    if (!needs_version()) return {};
    const auto file = context_.door->tree().open_file(terms_.path);
    if (!file && file.error().fault != files::Fault::not_found) return refuse(file.error());
    return judge_version(file ? &file->info : nullptr);
}

void WritePermit::ask_for(std::function<void(Objection)> then) {
    if (terms_.lock_token) return then({});
    HengdangDoor& door = *context_.door;
    door.holds().enter(key());
    // Transient: the request that needs the lock ends with the server, so the lock may end too.
    const core::AcquireRequest request{
        .scope = core::Scope::path(terms_.path.text()),
        .owner = {.door = service::hengdang_door, .name = terms_.session_name},
        .ttl = lock_time,
        .renew_own = true,
        .is_transient = true};
    ask(
        context_.port, request,
        [this, &door, then = std::move(then)](const service::Response& response) {
            const bool is_new = response.outcome.kind == core::Outcome::Kind::granted;
            const bool is_own = response.outcome.kind == core::Outcome::Kind::renewed;
            if (!response.failure.empty() || (!is_new && !is_own)) {
                return then(refuse_lock(response, door.times(), door.clock()));
            }
            lock_ = response.outcome.lease.token;
            door.holds().set_lock(key(), *lock_, is_new);
            // If the session has ended meanwhile, its locks were released before it had this one.
            const bool is_live = door.sessions().is_live(terms_.session_name, door.wall_now());
            then(is_live ? Objection{} : refuse(NoSession::unknown));
        },
        terms_.by,
        rights::allowed_to(terms_.client.get(), rights::Right::lock, rights::Door::files));
}

BlockingLocks::TokenClaim WritePermit::claim_on(const files::FileInfo* current) const {
    return {.token = *terms_.lock_token,
            .session_name = terms_.session_name,
            .client = terms_.client,
            .by = terms_.by,
            .path = terms_.path.text(),
            .inode_number = current == nullptr ? 0 : current->inode_number,
            .range = terms_.range};
}

WritePermit::Objection WritePermit::judge_version(const files::FileInfo* current) const {
    if (const auto broken = find_broken(terms_.conditions, current)) {
        return refuse_precondition(*broken, current == nullptr ? "" : current->etag());
    }
    if (!terms_.lock_token) return {};
    return context_.door->locks().check(claim_on(current));
}

WritePermit::Objection WritePermit::check(const files::FileInfo* current) const {
    HengdangDoor& door = *context_.door;
    if (!door.sessions().is_live(terms_.session_name, door.wall_now())) {
        return refuse(NoSession::unknown);
    }
    if (const auto denial = deny_path(terms_.client.get(), Deed::change, terms_.path)) {
        return refuse(*denial);
    }
    if (auto objection = judge_version(current); objection || terms_.lock_token) return objection;
    return door.locks().keep({.token = *lock_, .path = terms_.path.text()});
}

WritePermit::Commit::Commit(const WritePermit& permit) : permit_(permit) {
    const Terms& terms = permit.terms_;
    if (!terms.lock_token) return;
    turn_.emplace(permit.context_.door->token_gates().enter(terms.path.text()));
}

WritePermit::Commit::~Commit() {
    if (!has_entered_holds_) return;
    const auto& door = permit_.context_.door;
    door->locks().leave({.key = permit_.key(), .by = permit_.terms_.by},
                        [door] {});  // which exists until this is done
}

WritePermit::Objection WritePermit::Commit::judge(const files::FileInfo* current) {
    HengdangDoor& door = *permit_.context_.door;
    const Terms& terms = permit_.terms_;
    if (!change_) {
        auto change = door.sessions().begin_change(terms.session_name, door.wall_now());
        if (!change) return refuse(NoSession::unknown);
        change_.emplace(std::move(*change));
    }
    if (auto objection = permit_.check(current); objection || !terms.lock_token) return objection;
    if (!std::exchange(has_entered_holds_, true)) door.holds().enter(permit_.key());
    return door.locks().borrow(permit_.claim_on(current));
}

void WritePermit::give_back(bool has_written, std::function<void()> then) {
    if (terms_.lock_token) return then();
    context_.door->locks().leave({.key = key(), .has_written = has_written, .by = terms_.by},
                                 std::move(then));
}

}  // namespace holdfast::doors::hengdang
