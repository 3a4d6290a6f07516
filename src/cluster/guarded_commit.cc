#include "cluster/guarded_commit.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "cluster/records/lease_record.h"
#include "service/ports/port.h"

namespace holdfast::cluster {

namespace {

using etcd::Operation;

// What an operation takes on the wire besides its key and value, at most.
constexpr std::size_t operation_overhead = 24;

std::size_t bytes_of(const Operation& operation) {
    return operation.key.size() + operation.value.size() + operation_overhead;
}

// Removals first.
std::vector<Operation> operations_of(const Keys& keys, const service::CommitEffect& effect,
                                     service::WallTime epoch, WrittenLeases& written,
                                     HistoryPart history) {
    std::vector<Operation> operations;
    operations.reserve(effect.ends().size() + effect.puts().size() + effect.fences().size());
    const auto fence_of = [](const core::Event& event) {
        return core::as_number(event.lease.token.fence);
    };
    for (const core::Event* const end : effect.ends()) {
        written.forget(fence_of(*end));
        operations.push_back(Operation::remove(keys.lease(fence_of(*end))));
    }
    for (const service::FenceMark& mark : effect.fences()) {
        if (mark.highest == 0) operations.push_back(Operation::remove(keys.fence(mark.resource)));
    }
    // Behind the removals: the history never tells of an end that has not come.
    std::move(history.operations.begin(), history.operations.end(), std::back_inserter(operations));
    for (const auto& put : effect.puts()) {
        const std::uint64_t fence = fence_of(*put.change);
        service::HoldBegin begin = history.begin_of(fence);
        // Without a history, it says to which token an id belongs.
        const bool has_id = !put.change->lease.notes.request_id.empty();
        if (begin.by.empty() && put.is_new && has_id) begin.by = service::access_token_in(put.by);
        std::string record = to_record(*put.change, epoch, begin);
        if (written.is_known(fence, record)) continue;
        operations.push_back(Operation::put(keys.lease(fence), std::move(record)));
    }
    for (const service::FenceMark& mark : effect.fences()) {
        if (mark.highest == 0) continue;
        operations.push_back(
            Operation::put(keys.fence(mark.resource), std::to_string(mark.highest)));
    }
    return operations;
}

// How many of the operations fit into one transaction; at least one.
std::size_t count_fitting(std::span<const Operation> operations) {
    std::size_t bytes = 0, count = 0;
    while (count < std::min(operations.size(), operations_max)) {
        bytes += bytes_of(operations[count]);
        if (count > 0 && bytes > transaction_bytes_max) break;
        ++count;
    }
    return count;
}

// Packs them into nested transactions if they are too many for one level.
std::vector<Operation> pack(std::span<Operation> operations) {
    std::vector<Operation> packed;
    if (operations.size() <= flat_operations_max) {
        std::move(operations.begin(), operations.end(), std::back_inserter(packed));
        return packed;
    }
    for (std::size_t begin = 0; begin < operations.size(); begin += nested_operations_max) {
        const auto some =
            operations.subspan(begin, std::min(nested_operations_max, operations.size() - begin));
        etcd::Transaction nested;
        std::move(some.begin(), some.end(), std::back_inserter(nested.then));
        packed.push_back(Operation::transaction(std::move(nested)));
    }
    return packed;
}

GuardedStep guard(const Keys& keys, const Term& term, std::vector<Operation> operations,
                  const Counter& after) {
    etcd::Transaction transaction;
    transaction.conditions = {{.target = etcd::Compare::Target::create_revision,
                               .key = keys.leader(),
                               .number = term.elected_at},
                              {.target = etcd::Compare::Target::value,
                               .key = keys.counter(),
                               .value = to_text(term.counter)}};
    const bool has_raised = after != term.counter;
    transaction.then = std::move(operations);
    if (has_raised) transaction.then.push_back(Operation::put(keys.counter(), to_text(after)));
    transaction.otherwise = {Operation::range(keys.leader()), Operation::range(keys.counter())};
    return {.transaction = std::make_shared<const etcd::Transaction>(std::move(transaction)),
            .after = after,
            .has_raised = has_raised};
}

Counter next_after(const Counter& counter, std::uint64_t fence) {
    return {.number = counter.number + 1, .fence = fence};
}

// What the other branch of the transaction has read.
Verdict judge_refused(const GuardedStep& step, etcd::Revision elected_at,
                      const etcd::TransactionAnswer& answer, std::string& why) {
    why = "etcd has answered something else than it was asked";
    if (answer.ranges.size() < 2) return Verdict::again;
    const auto& leader = answer.ranges[0].found;
    const auto& counter = answer.ranges[1].found;
    const bool is_leader = !leader.empty() && leader.front().create_revision == elected_at;
    if (!is_leader) {
        why = "this node does not lead any more";
        return Verdict::deposed;
    }
    const bool has_happened =
        step.has_raised && !counter.empty() && counter.front().value == to_text(step.after);
    if (has_happened) return Verdict::done;
    why = "the counter of commits in etcd is not as this node has left it";
    return Verdict::deposed;
}

}  // namespace

std::vector<GuardedStep> plan_commit(const Keys& keys, const Term& term,
                                     const service::CommitEffect& effect, service::WallTime epoch,
                                     WrittenLeases& written, HistoryPart history) {
    std::vector<Operation> operations =
        operations_of(keys, effect, epoch, written, std::move(history));
    const std::uint64_t fence =
        std::max({term.counter.fence, effect.last_fence(), effect.reserved_fence()});
    std::vector<GuardedStep> steps;
    Term reached = term;
    std::span<Operation> rest(operations);
    do {
        const std::span<Operation> some = rest.first(count_fitting(rest));
        rest = rest.subspan(some.size());
        const bool has_puts = std::ranges::any_of(
            some, [](const Operation& one) { return one.kind == Operation::Kind::put; });
        const bool must_raise = has_puts || (rest.empty() && fence > reached.counter.fence);
        if (!must_raise && some.empty()) break;
        const Counter after = must_raise ? next_after(reached.counter, fence) : reached.counter;
        const bool has_history = std::ranges::any_of(
            some, [&](const Operation& one) { return one.key.starts_with(keys.histories()); });
        steps.push_back(guard(keys, reached, pack(some), after));
        if (has_history) steps.back().history = keys.histories();
        reached.counter = after;
    } while (!rest.empty());
    return steps;
}

GuardedStep without_history(const GuardedStep& step, std::vector<std::string>& left_out) {
    auto transaction = std::make_shared<etcd::Transaction>(*step.transaction);
    const auto leave_out = [&](std::vector<Operation>& operations) {
        std::erase_if(operations, [&](const Operation& one) {
            const bool is_history = one.key.starts_with(step.history);
            if (is_history) left_out.push_back(one.key);
            return is_history;
        });
    };
    for (Operation& one : transaction->then) {
        if (!one.nested) continue;
        etcd::Transaction nested = *one.nested;
        leave_out(nested.then);
        one = Operation::transaction(std::move(nested));
    }
    leave_out(transaction->then);
    return {
        .transaction = std::move(transaction), .after = step.after, .has_raised = step.has_raised};
}

GuardedStep plan_first_commit(const Keys& keys, const Term& term, const Leader& leader,
                              etcd::LeaseId lease) {
    return guard(keys, term,
                 {Operation::put(keys.epoch(), std::to_string(leader.epoch)),
                  Operation::put(keys.leader(), to_text(leader), lease)},
                 next_after(term.counter, term.counter.fence));
}

GuardedStep plan_check(const Keys& keys, const Term& term) {
    return guard(keys, term, {Operation::remove(keys.nothing())}, term.counter);
}

Verdict judge(const GuardedStep& step, etcd::Revision elected_at,
              const etcd::Answer<etcd::TransactionAnswer>& answer, std::string& why) {
    if (answer) {
        if (answer->is_true) return Verdict::done;
        return judge_refused(step, elected_at, *answer, why);
    }
    why = answer.error().message;
    switch (answer.error().kind) {
        case etcd::Failure::Kind::no_space: return Verdict::full;
        case etcd::Failure::Kind::rejected: return Verdict::rejected;
        case etcd::Failure::Kind::no_lease: return Verdict::deposed;
        case etcd::Failure::Kind::not_done:
        case etcd::Failure::Kind::unknown:
        case etcd::Failure::Kind::too_large:
        case etcd::Failure::Kind::compacted: break;
    }
    return Verdict::again;
}

Verdict judge_check(const GuardedStep& step, etcd::Revision elected_at,
                    const etcd::Answer<etcd::TransactionAnswer>& answer, std::string& why) {
    if (answer && answer->is_true) return Verdict::full;
    if (answer) return judge_refused(step, elected_at, *answer, why);
    if (answer.error().kind != etcd::Failure::Kind::rejected) return Verdict::again;
    why = answer.error().message;
    return Verdict::deposed;
}

}  // namespace holdfast::cluster
