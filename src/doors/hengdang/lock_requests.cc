#include "doors/hengdang/lock_requests.h"

#include <utility>

#include "service/doors.h"

namespace holdfast::doors::hengdang {

namespace {

using ExchangePtr = std::shared_ptr<Exchange>;

core::Owner owner_of(const LockOrder& order) {
    return {.door = service::hengdang_door, .name = order.session_name};
}

// The lease that is in the way of others, or the session's own; null if there is none.
const core::LeaseView* find_holder(const service::Response& response, const LockOrder& order) {
    if (response.locks().empty() || response.locks().front().holders.empty()) return nullptr;
    for (const core::LeaseView& holder : response.locks().front().holders) {
        if (holder.owner == owner_of(order)) return &holder;
    }
    return &response.locks().front().holders.front();
}

// The session may have ended while the lock was on its way: then what was released with it did not
// have this one in it. Later ends find it.
void give_back_if_over(const ExchangePtr& exchange, const LockOrder& order,
                       const core::Token& token) {
    HengdangDoor& door = exchange->place().door;
    if (door.sessions().find(order.session_id, door.wall_now())) {
        return exchange->answer(tell_lock("Lock acquired", order.path.text(), order.session_name));
    }
    door.desk().release(token, LeaseDesk::Until::done, [] {});
    exchange->answer(refuse(NoSession::unknown));
}

void acquire(const ExchangePtr& exchange, const LockOrder& order) {
    const core::AcquireRequest request{.scope = core::Scope::path(order.path.text()),
                                       .owner = owner_of(order),
                                       .ttl = lock_time,
                                       .renew_own = true};
    ask(exchange->place().port, request, [exchange, order](const service::Response& response) {
        HengdangDoor& door = exchange->place().door;
        const core::Outcome& outcome = response.outcome;
        const bool is_granted = outcome.kind == core::Outcome::Kind::granted;
        const bool is_renewed = outcome.kind == core::Outcome::Kind::renewed;
        if (!response.failure.empty() || (!is_granted && !is_renewed)) {
            return exchange->answer(refuse_lock(response, door.times(), door.clock()));
        }
        if (is_renewed) door.times().restart(outcome.lease, response.now);
        door.holds().keep({.session = order.session_name, .path = order.path.text()});
        give_back_if_over(exchange, order, outcome.lease.token);
    });
}

void release(const ExchangePtr& exchange, const LockOrder& order) {
    const service::ReleaseOwn request{.scope = core::Scope::path(order.path.text()),
                                      .owner = owner_of(order)};
    ask(exchange->place().port, request, [exchange, order](const service::Response& response) {
        if (!response.failure.empty()) return exchange->answer(refuse_failed(response));
        const bool is_done = response.outcome.kind == core::Outcome::Kind::released;
        exchange->answer(is_done ? tell_lock("Lock released", order.path.text())
                                 : refuse_not_owned());
    });
}

void renew(const ExchangePtr& exchange, const LockOrder& order, const core::Token& token) {
    const core::RenewRequest request{.token = token, .ttl = lock_time};
    ask(exchange->place().port, request, [exchange, order](const service::Response& response) {
        if (!response.failure.empty()) return exchange->answer(refuse_failed(response));
        const bool is_done = response.outcome.kind == core::Outcome::Kind::renewed;
        exchange->answer(is_done ? tell_lock("Lock refreshed", order.path.text())
                                 : refuse_not_owned());
    });
}

// Looks for the lock first: its token is nowhere but in the engine. A lock of this door is
// exclusive, so if the session holds it there is no other holder.
void look(const ExchangePtr& exchange, const LockOrder& order) {
    const service::Inspect request{.scope = core::Scope::path(order.path.text()),
                                   .holders = {.limit = 1}};
    ask(exchange->place().port, request, [exchange, order](const service::Response& response) {
        if (!response.failure.empty()) return exchange->answer(refuse_failed(response));
        const core::LeaseView* const holder = find_holder(response, order);
        const bool is_own = holder != nullptr && holder->owner == owner_of(order);
        if (order.wish == LockWish::refresh) {
            if (!is_own) return exchange->answer(refuse_not_owned());
            return renew(exchange, order, core::Token(holder->token));
        }
        HengdangDoor& door = exchange->place().door;
        std::optional<LockNote> note;
        if (holder != nullptr) note = note_of(*holder, door.times(), door.clock());
        exchange->answer(tell_status(note, is_own));
    });
}

// Directories have no locks: that something is none has to be looked up.
void acquire_if_file(const ExchangePtr& exchange, const LockOrder& order) {
    exchange->place().door.readers().run([exchange, order]() mutable {
        const auto is_directory = exchange->place().door.tree().is_directory(order.path);
        net::EventLoop& loop = exchange->place().loop;
        loop.post([exchange = std::move(exchange), order = std::move(order), is_directory] {
            if (!is_directory) return exchange->answer(refuse(is_directory.error()));
            if (!*is_directory) return acquire(exchange, order);
            exchange->answer(refuse(400, "Cannot lock a directory", "Locks are for files only"));
        });
    });
}

}  // namespace

void run_lock_order(const ExchangePtr& exchange, LockOrder order) {
    if (order.path.ends_in_slash()) {
        return exchange->answer(refuse(400, "Cannot lock a directory", "Locks are for files only"));
    }
    switch (order.wish) {
        case LockWish::acquire: return acquire_if_file(exchange, order);
        case LockWish::release: return release(exchange, order);
        case LockWish::refresh:
        case LockWish::status: return look(exchange, order);
    }
}

}  // namespace holdfast::doors::hengdang
