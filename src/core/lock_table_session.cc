// Sessions: everything a connection or a login holds and waits for ends with it.

#include "core/containers/slot_list.h"
#include "core/lock_table.h"

namespace holdfast::core {

SessionId LockTable::open_session(Time now, const Owner& owner) {
    advance(now);
    if (sessions_.size() >= limits_.sessions_max) return {};
    const Slot slot = sessions_.emplace();
    Session& session = sessions_[slot];
    session.id = {.serial = next_serial_++, .slot = slot};
    session.owner = owner.name;
    session.door = owner.door;
    session.opened_at = now_;
    emit(EventKind::session_opened, session);
    return session.id;
}

bool LockTable::end_session(Time now, SessionId id, SessionLeases leases) {
    advance(now);
    Session* session = find_session(id);
    if (session == nullptr) return false;
    // The youngest first: what a waiter's end lets through came after it, so nothing of this
    // session can be granted while the session goes down.
    while (session->waiters.last != no_slot) {
        remove_waiter(session->waiters.last, EventKind::wait_cancelled, Cause::session_end);
    }
    while (session->leases.first != no_slot) {
        const Slot lease = session->leases.first;
        if (leases == SessionLeases::release) {
            end_lease(lease, EventKind::released, Cause::session_end);
        } else {
            unlink(leases_, session_lease_links, session->leases, lease);
            --session->lease_count;
            leases_[lease].session = no_slot;
            leases_[lease].has_entry = false;
        }
    }
    while (session->entries.first != no_slot) drop_entry(session->entries.first);
    emit(EventKind::session_ended, *session);
    sessions_.erase(id.slot);
    return true;
}

}  // namespace holdfast::core
