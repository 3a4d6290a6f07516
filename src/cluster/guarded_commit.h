#pragma once

// A commit as transactions that etcd does only while this node leads.
//
//     IF   create_revision(leader) == E  AND  value(counter) == the text of n-1
//     THEN the changes, counter = the text of n
//     ELSE read leader and counter
//
// E is the revision of the node's election. So a transaction of an older leader does nothing, and
// one that was sent twice is done once. What the answer means:
//
//   answer                                        verdict
//   done                                          done
//   not done; leader == E, counter == n           done: it was done when it was sent before
//   not done; anything else                       deposed
//   none, or etcd could not do it now             again: the same transaction is sent once more.
//                                                 Never number n+1 before n is known to be done
//   etcd is full                                  full: it is done or not. A check tells which
//   etcd rejects it                               rejected; nothing is written
//
// A check is the same condition around a removal of a key that is not there. It changes nothing, etcd
// does it also when it is full, and all members agree on its place among the transactions: so a member
// that lags cannot answer it from what it knows.
//
// A transaction that only removes does not raise the counter, because that is a put, which a full
// etcd refuses. Doing it twice does no harm: fencing numbers are never used again, and a copy that
// comes after a later put finds another counter.
//
// A commit that is too large for one transaction becomes several, the removals first. If the node
// loses the lead in between, the next leader finds locks free that nobody was told of; it never
// finds two holders of one lock.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/records/keys.h"
#include "cluster/records/records.h"
#include "cluster/records/written_leases.h"
#include "etcd/api.h"
#include "service/commit_effect.h"
#include "service/history/hold.h"
#include "service/ports/clock.h"

namespace holdfast::cluster {

// etcd takes 128 operations in a transaction. A nested transaction counts as one, but its own
// operations and those around it must not be more than 128 together. So 63 nested ones of 64, with
// the counter beside them, are the most. Requests may have 1.5 MiB.
inline constexpr std::size_t nested_operations_max = 64;
inline constexpr std::size_t flat_operations_max = 126;
inline constexpr std::size_t operations_max = 63 * nested_operations_max;
inline constexpr std::size_t transaction_bytes_max = 1'400'000;

// The lead of a node, as etcd can check it.
struct Term {
    etcd::Revision elected_at = 0;
    Counter counter;  // as etcd has it after the last commit
};

struct GuardedStep {
    std::shared_ptr<const etcd::Transaction> transaction;
    Counter after;            // the counter when it is done
    bool has_raised = false;  // the counter is another than before
    // If the step writes the history: the prefix of its keys.
    std::string history = {};
};

// What the history adds to a commit.
struct HistoryPart {
    std::vector<etcd::Operation> operations = {};
    // How the hold of the lease with this number began.
    std::function<service::HoldBegin(std::uint64_t)> begin_of = [](std::uint64_t /*fence*/) {
        return service::HoldBegin{};
    };
};

// The transactions of a commit, in their order; none if it changes nothing in etcd. `epoch` is what
// the wall clock showed at the engine's time zero. `written` gets what etcd will have: after a commit
// that fails it must be filled anew.
[[nodiscard]] std::vector<GuardedStep> plan_commit(const Keys& keys, const Term& term,
                                                   const service::CommitEffect& effect,
                                                   service::WallTime epoch, WrittenLeases& written,
                                                   HistoryPart history = {});

// The step without what it does to the history, which is a by-product: for an etcd that rejects the
// whole. The keys that are left out are added to `left_out`.
[[nodiscard]] GuardedStep without_history(const GuardedStep& step,
                                          std::vector<std::string>& left_out);

// The first commit of a leader: it raises the epoch and the counter, and tells everybody that it
// serves. `leader` has the new epoch.
[[nodiscard]] GuardedStep plan_first_commit(const Keys& keys, const Term& term,
                                            const Leader& leader, etcd::LeaseId lease);

// The check: changes nothing; is done if the node leads and the counter is as it knows it.
[[nodiscard]] GuardedStep plan_check(const Keys& keys, const Term& term);

enum class Verdict : std::uint8_t { done, again, full, rejected, deposed };

// What the answer to a step means. Unless it is done, `why` gets a sentence for people.
[[nodiscard]] Verdict judge(const GuardedStep& step, etcd::Revision elected_at,
                            const etcd::Answer<etcd::TransactionAnswer>& answer, std::string& why);

// The same for the answer to a check that was sent after the step was answered by "full": full means
// that the step is not done. Leaves `why` alone then.
[[nodiscard]] Verdict judge_check(const GuardedStep& step, etcd::Revision elected_at,
                                  const etcd::Answer<etcd::TransactionAnswer>& answer,
                                  std::string& why);

}  // namespace holdfast::cluster
