// Requests that take several turns, because they are about very many leases (core/lock_table_parts.cc),
// and what is due, which may take several turns as well.
//
// Such a request is kept until its last part is done, and is answered then. A request on a crowded
// lock, while leases that are due have not been handled yet, waits until they are: its answer is what
// it would have been if they had been handled at once. Both go on in the order in which they came, a
// part in each turn. A request that has begun goes on although its client has gone.

#include <utility>

#include "base/log/log.h"
#include "service/lock_service.h"

namespace holdfast::service {

namespace {

// Ending leases together that takes longer than this is worth a line to everybody who reads the log:
// requests waited for it.
constexpr std::chrono::milliseconds slow_sweep{100};

// Requests that go on are not run any more in a turn in which they have looked at so many records.
constexpr std::uint64_t visits_of_a_turn = 1024;

// Whether the request is about a lock on which too much is due to be handled at once, or about all locks.
struct IsTooMuch {
    const core::LockTable& table;

    bool operator()(const core::AcquireRequest& request) const {
        return table.is_too_much_to_settle(request);
    }
    bool operator()(const Enqueue& enqueue) const {
        return table.is_too_much_to_settle(enqueue.request);
    }
    bool operator()(const ReleaseOwn& request) const {
        return table.is_too_much_to_settle(request.scope);
    }
    bool operator()(const Inspect& request) const {
        return table.is_too_much_to_settle(request.scope) ||
               (request.or_else && table.is_too_much_to_settle(*request.or_else));
    }
    bool operator()(const List& /*request*/) const { return table.is_behind(); }
    bool operator()(const ListLeases& /*request*/) const { return table.is_behind(); }
    bool operator()(const ListDeadlocks& /*request*/) const { return table.is_behind(); }
    // What a step will look at is not known.
    bool operator()(const RunStep& /*request*/) const { return table.has_crowded(); }
    template <class Other>
    bool operator()(const Other& /*request*/) const {
        return false;
    }
};

}  // namespace

// Lets happen what is due, as much as a part allows. True if an answer that depends on it must wait
// for a commit.
bool LockService::advance(core::Time now) {
    if (!table_->is_due(now)) return false;
    const std::uint64_t expired_before = figures_.expired;
    const core::Time began = clock_.now();
    table_->advance(now);
    const bool is_uncommitted = absorb_changes();
    const std::uint64_t expired = figures_.expired - expired_before;
    if (expired > 0) log_sweep(began, expired);
    return is_uncommitted;
}

void LockService::log_sweep(core::Time began, std::uint64_t expired) {
    const core::Duration latency = clock_.now() - began;
    figures_.sweep_seconds.add(std::chrono::duration<double>(latency).count());
    base::log(latency > slow_sweep ? base::LogLevel::info : base::LogLevel::debug, "sweep",
              {{"expired", expired},
               {"latency_us", std::int64_t{latency.count()}},
               {"held", std::uint64_t{table_->counts().leases}}});
}

// Other clients have their turn before the next part.
void LockService::go_on_in_next_turn() {
    const bool has_more = is_serving() && (table_->is_behind() || !long_requests_.empty());
    if (!has_more || is_going_on_) return;
    is_going_on_ = true;
    executor_.post([this] {
        is_going_on_ = false;
        if (is_serving()) sweep();
        executor_.at_end_of_turn();
    });
}

bool LockService::must_wait_for_table(const Request& request) const {
    if (!table_->is_behind() && long_requests_.empty()) return false;
    return std::visit(IsTooMuch{*table_}, request);
}

// The request, which was just run, is not finished: it goes on in later turns.
void LockService::keep_for_later(const Request& request, const Asker& asker,
                                 const Progress& progress) {
    absorb_changes();
    unclaimed_ = make_promise(operation_of(request));
    LongRequest& kept = long_requests_.emplace_back();
    kept.promise = *unclaimed_;
    kept.request = request;
    kept.texts.keep_texts_of(kept.request);
    kept.by = asker.by;
    kept.allowed = asker.allowed;
    kept.progress = progress;
    kept.has_begun = std::holds_alternative<ForceRelease>(request) ||
                     std::holds_alternative<EndSession>(request);
}

void LockService::go_on_with_long_requests() {
    if (long_requests_.empty()) return;
    // Taken out, because a request that is run looks whether others wait before it.
    std::list<LongRequest> waiting = std::exchange(long_requests_, {});
    const std::uint64_t began = table_->visited();
    while (!waiting.empty() && table_->visited() - began < visits_of_a_turn) {
        LongRequest& next = waiting.front();
        const bool has_client = find_promise(next.promise) != nullptr;
        if (has_client || next.has_begun) {
            const Asker asker{.by = next.by, .allowed = next.allowed};
            const bool is_finished = run(next.request, asker, next.progress);
            absorb_changes();
            if (!is_finished) break;
            const Response* const response =
                has_client ? conclude(next.request, asker, next.promise) : nullptr;
            if (response != nullptr) owe(next.promise, *response, no_commit);
        }
        waiting.pop_front();
    }
    long_requests_.splice(long_requests_.begin(), waiting);
}

}  // namespace holdfast::service
