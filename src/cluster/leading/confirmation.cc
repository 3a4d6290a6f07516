#include "cluster/leading/confirmation.h"

#include <string>
#include <utility>

namespace holdfast::cluster {

using etcd::Compare;
using etcd::Operation;

std::shared_ptr<const etcd::Transaction> plan_confirmation(const Keys& keys,
                                                           const Election& election) {
    auto transaction = std::make_shared<etcd::Transaction>();
    transaction->conditions = {
        {.target = Compare::Target::create_revision,
         .key = keys.leader(),
         .number = election.elected_at},
        {.target = Compare::Target::lease, .key = keys.leader(), .number = election.lease},
        {.target = Compare::Target::value,
         .key = keys.epoch(),
         .value = std::to_string(election.epoch)}};
    transaction->then = {Operation::remove(keys.nothing())};
    transaction->otherwise = {Operation::range(keys.leader()), Operation::range(keys.epoch())};
    return transaction;
}

etcd::Answer<Leadership::Confirmation> judge_confirmation(
    const Election& election, const etcd::Answer<etcd::TransactionAnswer>& answer) {
    if (!answer) return tl::unexpected(answer.error());
    if (answer->is_true) {
        return Leadership::Confirmation{.is_leader = true, .revision = answer->revision};
    }
    const bool has_leader = !answer->ranges.empty() && !answer->ranges.front().found.empty();
    if (!has_leader) {
        return Leadership::Confirmation{.why =
                                            "the key by which this node leads is gone from etcd"};
    }
    const etcd::KeyValue& leader = answer->ranges.front().found.front();
    const bool is_own =
        leader.create_revision == election.elected_at && leader.lease == election.lease;
    return Leadership::Confirmation{.why = is_own ? "a new epoch has begun in etcd"
                                                  : "another node has the leader's key in etcd"};
}

}  // namespace holdfast::cluster
