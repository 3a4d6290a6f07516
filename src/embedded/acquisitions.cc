#include "embedded/acquisitions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "embedded/translate.h"
#include "service/doors.h"
#include "values/lease_request.h"
#include "values/lock_scope.h"

namespace holdfast::embedded {

struct Acquisitions::Acquiring {
    LeaseRequest request;
    std::vector<LockSetMember> locks;
    std::vector<core::SetMember> members;  // views of these
    core::Duration wait{0};
    std::stop_token stop;
    Done done;  // empty once it was called

    // While it is under way.
    std::optional<std::list<Pointer>::iterator> place;
    std::optional<service::PromiseId> promise;
    std::optional<std::stop_callback<std::function<void()>>> on_stop;

    [[nodiscard]] core::Owner owner() const {
        return {.door = service::embedded_door, .name = request.holder};
    }
    void set_members();
    [[nodiscard]] core::AcquireRequest to_request() const;
};

void Acquisitions::Acquiring::set_members() {
    locks = values::members_of(request);
    for (const LockSetMember& lock : locks) {
        const std::uint64_t limit = std::min<std::uint64_t>(lock.limit, UINT32_MAX);
        members.push_back({.scope = values::to_core(lock.scope),
                           .mode = embedded::to_core(lock.mode),
                           .limit = static_cast<std::uint32_t>(limit)});
    }
}

core::AcquireRequest Acquisitions::Acquiring::to_request() const {
    const core::SetMember& first = members.front();
    core::AcquireRequest asked{.scope = first.scope,
                               .owner = owner(),
                               .mode = first.mode,
                               .limit = first.limit,
                               .ttl = embedded::to_core(request.ttl),
                               .wait = wait,
                               .is_only_kind = true,
                               .on_deadlock = request.on_deadlock == OnDeadlock::refuse
                                                  ? core::OnDeadlock::refuse
                                                  : core::OnDeadlock::tell,
                               .notes = {.request_id = request.request_id,
                                         .metadata = request.metadata,
                                         .waiter = request.waiter},
                               .value = request.value};
    if (members.size() > 1) asked.members = members;
    return asked;
}

void Acquisitions::start(LeaseRequest request, std::chrono::milliseconds wait, std::stop_token stop,
                         Done done) {
    const auto acquiring = std::make_shared<Acquiring>();
    acquiring->request = std::move(request);
    acquiring->wait = embedded::to_core(wait);
    acquiring->stop = std::move(stop);
    acquiring->done = std::move(done);
    parts_.thread.post([this, acquiring] { begin(acquiring); });
}

void Acquisitions::close() {
    is_closed_ = true;
    const std::list<Pointer> all = under_way_;
    for (const Pointer& acquiring : all) cancel(acquiring);
}

void Acquisitions::begin(const Pointer& acquiring) {
    if (auto fault = values::find_fault(acquiring->request)) {
        return end(acquiring, *std::move(fault));
    }
    if (is_closed_ || acquiring->stop.stop_requested()) {
        return end(acquiring, LockError{LockCancelled{}});
    }
    const auto waiting = waiting_.find(acquiring->request.holder);
    const std::size_t before = waiting == waiting_.end() ? 0 : waiting->second;
    if (parts_.count_of(acquiring->owner()) + before >= parts_.leases_per_holder_max) {
        return end(acquiring, LockError{LockLimitReached{"the holder has too many leases"}});
    }
    ++waiting_[acquiring->request.holder];
    acquiring->place = under_way_.insert(under_way_.end(), acquiring);
    acquiring->set_members();
    ask(acquiring);
    heed_stop(acquiring);
}

// The response may come before submit() returns.
void Acquisitions::ask(const Pointer& acquiring) {
    const auto promise = parts_.submit(
        acquiring->to_request(),
        [this, acquiring](const service::Response& response) { take(acquiring, response); });
    if (promise) acquiring->promise = promise;
}

// The stop may be requested on any thread, also while this runs.
void Acquisitions::heed_stop(const Pointer& acquiring) {
    if (!acquiring->promise || !acquiring->stop.stop_possible()) return;
    acquiring->on_stop.emplace(acquiring->stop,
                               [this, watched = std::weak_ptr<Acquiring>(acquiring)] {
                                   parts_.thread.post([this, watched] {
                                       if (const Pointer found = watched.lock()) cancel(found);
                                   });
                               });
}

// Without a promise it is answered already, or its lease is being renewed: it comes too late.
void Acquisitions::cancel(const Pointer& acquiring) {
    if (!acquiring->promise) return;
    parts_.abandon(*acquiring->promise);
    end(acquiring, LockError{LockCancelled{}});
}

void Acquisitions::take(const Pointer& acquiring, const service::Response& response) {
    acquiring->promise.reset();
    const bool has_timed_out = response.failure.empty() &&
                               response.outcome.kind == core::Outcome::Kind::refused &&
                               response.outcome.refusal == core::Refusal::timed_out;
    if (has_timed_out) {
        // Asks once more, to learn the holder; or the lock is free by now.
        acquiring->wait = core::Duration::zero();
        return ask(acquiring);
    }
    LockResult<Lease> result = parts_.to_result(response);
    if (result) result->limit = acquiring->locks.front().limit;
    // An id of the program's may have found a lease that is not new.
    if (result && !acquiring->request.request_id.empty()) return renew(acquiring, *result);
    end(acquiring, result);
}

void Acquisitions::renew(const Pointer& acquiring, const Lease& found) {
    const core::Token token = core::parse_token(found.token).value_or(core::Token{});
    const core::RenewRequest request{.token = token,
                                     .ttl = embedded::to_core(acquiring->request.ttl)};
    parts_.submit(request, [this, acquiring](const service::Response& response) {
        LockResult<Lease> renewed = parts_.to_result(response);
        if (renewed) renewed->limit = acquiring->locks.front().limit;
        end(acquiring, renewed);
    });
}

void Acquisitions::end(const Pointer& acquiring, const LockResult<Lease>& result) {
    stop_waiting(*acquiring);
    const Done done = std::exchange(acquiring->done, nullptr);
    done(result);
}

void Acquisitions::stop_waiting(Acquiring& acquiring) {
    acquiring.promise.reset();
    acquiring.on_stop.reset();
    if (!acquiring.place) return;
    const auto count = waiting_.find(acquiring.request.holder);
    if (--count->second == 0) waiting_.erase(count);
    under_way_.erase(*std::exchange(acquiring.place, std::nullopt));
}

}  // namespace holdfast::embedded
