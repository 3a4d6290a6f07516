#include <utility>

#include "doors/hengdang/requests.h"
#include "service/doors.h"

namespace holdfast::doors::hengdang {

namespace {

using ExchangePtr = std::shared_ptr<Exchange>;

core::Owner owner_of(const LockRequest& lock) {
    return {.door = service::hengdang_door, .name = lock.session_name};
}

// The lease of the session, or else the first lease on the path; null if there is none.
const core::LeaseView* find_lease(const service::Response& response, const LockRequest& lock) {
    if (response.locks().empty() || response.locks().front().holders.empty()) return nullptr;
    for (const core::LeaseView& holder : response.locks().front().holders) {
        if (holder.owner == owner_of(lock)) return &holder;
    }
    return &response.locks().front().holders.front();
}

// Answers, unless the session has ended while the lock was being granted: then its other locks were
// released before this one was there, and it is released here.
void answer_acquired(const ExchangePtr& exchange, const LockRequest& lock,
                     const core::Token& token) {
    HengdangDoor& door = *exchange->context().door;
    if (door.sessions().is_live(lock.session_name, door.wall_now())) {
        return exchange->answer(tell_lock("Lock acquired", lock.path.text(), lock.session_name));
    }
    door.locks().release_late(token, [kept = exchange->context().door] {});
    exchange->answer(refuse(NoSession::unknown));
}

void acquire(const ExchangePtr& exchange, const LockRequest& lock) {
    const core::AcquireRequest request{.scope = core::Scope::path(lock.path.text()),
                                       .owner = owner_of(lock),
                                       .ttl = lock.wish.ttl,
                                       .renew_own = true};
    ask(
        exchange->context().port, request,
        [exchange, lock](const service::Response& response) {
            HengdangDoor& door = *exchange->context().door;
            const core::Outcome& outcome = response.outcome;
            const bool is_granted = outcome.kind == core::Outcome::Kind::granted;
            const bool is_renewed = outcome.kind == core::Outcome::Kind::renewed;
            if (!response.failure.empty() || (!is_granted && !is_renewed)) {
                return exchange->answer(refuse_lock(response, door.times(), door.clock()));
            }
            if (is_renewed) door.times().restart(outcome.lease, response.now);
            door.holds().keep({.session = lock.session_name, .path = lock.path.text()});
            answer_acquired(exchange, lock, outcome.lease.token);
        },
        lock.by, rights::allowed_to(lock.client.get(), rights::Right::lock, rights::Door::files));
}

void release(const ExchangePtr& exchange, const LockRequest& lock) {
    const service::ReleaseOwn request{.scope = core::Scope::path(lock.path.text()),
                                      .owner = owner_of(lock)};
    ask(
        exchange->context().port, request,
        [exchange, lock](const service::Response& response) {
            if (!response.failure.empty()) return exchange->answer(refuse_failed(response));
            const bool is_done = response.outcome.kind == core::Outcome::Kind::released;
            exchange->answer(is_done ? tell_lock("Lock released", lock.path.text())
                                     : refuse_not_owned());
        },
        lock.by);
}

void renew(const ExchangePtr& exchange, const LockRequest& lock, const core::Token& token) {
    const core::RenewRequest request{.token = token, .ttl = lock.wish.ttl};
    ask(
        exchange->context().port, request,
        [exchange, lock](const service::Response& response) {
            if (!response.failure.empty()) return exchange->answer(refuse_failed(response));
            const bool is_done = response.outcome.kind == core::Outcome::Kind::renewed;
            exchange->answer(is_done ? tell_lock("Lock refreshed", lock.path.text())
                                     : refuse_not_owned());
        },
        lock.by);
}

// Looks the lock up first: only the engine knows its token. A lock of this door is exclusive, so if
// the session holds it, there is no other holder.
void look(const ExchangePtr& exchange, const LockRequest& lock) {
    const service::Inspect request{.scope = core::Scope::path(lock.path.text()),
                                   .holders = {.limit = 1}};
    ask(exchange->context().port, request, [exchange, lock](const service::Response& response) {
        if (!response.failure.empty()) return exchange->answer(refuse_failed(response));
        const core::LeaseView* const holder = find_lease(response, lock);
        const bool is_own = holder != nullptr && holder->owner == owner_of(lock);
        if (lock.wish.action == LockAction::refresh) {
            if (!is_own) return exchange->answer(refuse_not_owned());
            return renew(exchange, lock, core::Token(holder->token));
        }
        HengdangDoor& door = *exchange->context().door;
        std::optional<LockNote> note;
        if (holder != nullptr) note = note_of(*holder, door.times(), door.clock());
        exchange->answer(tell_status(note, is_own));
    });
}

// Directories have no locks, and only the disk knows whether a path is a directory.
void acquire_if_file(const ExchangePtr& exchange, const LockRequest& lock) {
    exchange->context().door->readers().run([exchange, lock] {
        const auto is_directory = exchange->context().door->tree().is_directory(lock.path);
        net::EventLoop& loop = exchange->context().loop;
        loop.post([exchange, lock, is_directory] {
            if (!is_directory) return exchange->answer(refuse(is_directory.error()));
            if (!*is_directory) return acquire(exchange, lock);
            exchange->answer(refuse(400, "Cannot lock a directory", "Locks are for files only"));
        });
    });
}

}  // namespace

void run_lock_request(const ExchangePtr& exchange, const LockRequest& lock) {
    if (lock.path.ends_in_slash()) {
        return exchange->answer(refuse(400, "Cannot lock a directory", "Locks are for files only"));
    }
    switch (lock.wish.action) {
        case LockAction::acquire: return acquire_if_file(exchange, lock);
        case LockAction::release: return release(exchange, lock);
        case LockAction::refresh:
        case LockAction::status: return look(exchange, lock);
    }
}

}  // namespace holdfast::doors::hengdang
