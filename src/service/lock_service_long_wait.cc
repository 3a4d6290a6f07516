// Waits that are longer than a client may go without an answer, and the end of waits: of all of them when
// the server stops or the store is full, and of those whose clients have lost the right to the lock.

#include <algorithm>
#include <utility>
#include <vector>

#include "service/lock_service.h"

namespace holdfast::service {

namespace {

// So many waits are paused in one turn, and so many places are given up. The rest follows in the next.
constexpr int answers_of_a_turn = 256;

}  // namespace

// Removes and returns the promise that waits for this waiter's turn. Nothing if there is none.
std::optional<PromiseId> LockService::take_promise_of(core::WaiterId waiter) {
    const PromiseId* const found = promises_by_waiter_.find(waiter.serial);
    if (found == nullptr) return std::nullopt;
    const PromiseId id = *found;
    promises_by_waiter_.erase(waiter.serial);
    answer_deadlines_.disarm(id.slot);
    return id;
}

void LockService::erase_promise(core::Slot slot) {
    answer_deadlines_.disarm(slot);
    promises_.erase(slot);
}

// Only a request with an id can be recognised when it is made again.
void LockService::limit_wait(const Request& request, core::Slot promise) {
    const auto* const acquire = std::get_if<core::AcquireRequest>(&request);
    if (acquire == nullptr || acquire->notes.request_id.empty()) return;
    if (acquire->wait <= wait_limits_.answer_max) return;
    answer_deadlines_.arm(promise, response_.now + wait_limits_.answer_max);
}

// Tells every client that has waited for answer_max to ask again, and keeps its place in the queue
// until it does. The table ends the wait when the place is no longer kept. So if the process stands
// still meanwhile, the wait is over before anything that was due later is granted.
void LockService::pause_long_waits(core::Time now) {
    int left = answers_of_a_turn;
    for (auto due = answer_deadlines_.top(); due && due->deadline <= now && left > 0;
         due = answer_deadlines_.top(), --left) {
        Promise& promise = promises_[due->slot];
        const PromiseId id{.number = promise.number, .slot = due->slot};
        take_promise_of(promise.waiter);
        promise.place = std::exchange(promise.waiter, {});
        places_.keep(promise.place, now + wait_limits_.place_kept);
        table_->wait_at_most(now, promise.place, wait_limits_.place_kept);
        owe_refusal(id, now, core::Refusal::still_waiting, promise.place);
    }
}

void LockService::give_up_due_places(core::Time now) {
    for (int left = answers_of_a_turn; left > 0; --left) {
        const auto place = places_.take_due(now);
        if (!place) return;
        leave_place(*place);
    }
}

void LockService::give_up_place(core::WaiterId waiter) {
    if (!is_serving()) return;
    if (const auto place = places_.take(waiter)) leave_place(*place);
    executor_.at_end_of_turn();
}

// The client did not ask again in time. A lease that was granted meanwhile is released, because no
// client knows of it, and the request id is forgotten, so that the request may be made anew.
void LockService::leave_place(const KeptPlace& place) {
    const core::Time now = clock_.now();
    if (!place.grant) {
        cancel_wait(now, place.waiter);
        absorb_changes();
        return;
    }
    table_->advance(now);
    absorb_changes();
    const std::size_t first = table_->changes().size();
    table_->release(now, {.token = *place.grant});
    absorb_changes();
    const core::Changes& changes = table_->changes();
    for (std::size_t index = first; index < changes.size(); ++index) {
        const core::Event& event = changes[index];
        const bool is_its_end =
            event.kind == core::EventKind::released && event.lease.token == *place.grant;
        if (is_its_end) requests_.forget(event);
    }
}

// The last waiter of a queue is cancelled first, so that no waiter moves up that is about to be
// cancelled, too. A lease that was granted to a kept place stays: its client finds it after a restart
// by the id of the request.
void LockService::begin_stop() {
    is_stopping_ = true;
    executor_.at_end_of_turn();
    if (!is_serving()) return;
    end_waits({.outcome = core::Outcome::refuse(core::Refusal::stopping)});
}

// The store takes no new locks.
void LockService::end_waits_without_growth() {
    if (!store_.refuses_growth() || (promises_by_waiter_.empty() && places_.size() == 0)) return;
    const std::string why = store_.why_no_growth();
    end_waits({.failure = why});
}

// Answers everybody who waits for a lock.
void LockService::end_waits(const Response& refusal) {
    const core::Time now = clock_.now();
    table_->advance(now);
    absorb_changes();
    std::vector<core::WaiterId> waiters;
    promises_by_waiter_.for_each(
        [&](std::uint64_t, PromiseId id) { waiters.push_back(promises_[id.slot].waiter); });
    while (const auto place = places_.take_any()) {
        if (!place->grant) waiters.push_back(place->waiter);
    }
    std::sort(waiters.begin(), waiters.end(),
              [](const auto& one, const auto& other) { return one.serial > other.serial; });
    for (const core::WaiterId waiter : waiters) {
        if (const auto id = take_promise_of(waiter)) {
            promises_[id->slot].waiter = {};
            Response response = refusal;
            response.now = now;
            owe(*id, response, no_commit);
        }
        cancel_wait(now, waiter);
    }
    absorb_changes();
}

// The request waits from now on, or its place is taken by a client that asks again.
void LockService::keep_right(const Request& request, const AllowedScopes& allowed) {
    const core::WaiterId waiter = response_.outcome.waiter;
    if (!allowed) return wait_rights_.forget(waiter);
    wait_rights_.keep(waiter, allowed, wanted_by(request));
}

// What was due before this moment happens first, as it would have without the change of rights.
std::size_t LockService::end_waits_without_right() {
    executor_.at_end_of_turn();
    if (!is_serving() || wait_rights_.size() == 0) return 0;
    const core::Time now = clock_.now();
    table_->advance(now);
    absorb_changes();
    const std::vector<WaitRights::Lost> lost = wait_rights_.take_lost();
    for (const WaitRights::Lost& wait : lost) {
        if (const auto id = take_promise_of(wait.waiter)) {
            promises_[id->slot].waiter = {};
            Response response{.now = now, .outcome = core::Outcome::refuse(core::Refusal::denied)};
            if (const auto scope = core::parse_scope(wait.scope)) {
                response.outcome.lease.scope = *scope;
            }
            owe(*id, response, no_commit);
        }
        cancel_wait(now, wait.waiter);
    }
    absorb_changes();
    return lost.size();
}

std::optional<core::Time> LockService::next_deadline() const {
    std::optional<core::Time> next = table_->next_deadline();
    const auto consider = [&next](core::Time time) { next = next ? std::min(*next, time) : time; };
    if (const auto due = answer_deadlines_.top()) consider(due->deadline);
    if (const auto until = places_.next_deadline()) consider(*until);
    if (const auto removal = requests_.next_removal()) consider(*removal);
    if (const auto until = pipeline_.held_back_until()) consider(*until);
    return next;
}

}  // namespace holdfast::service
