#pragma once

// A confirmation: the transaction by which a leader sees that its key is in its place.
//
//     IF   create_revision(leader) == E  AND  lease(leader) == L  AND  value(epoch) == the own epoch
//     THEN remove a key that is not there
//     ELSE read leader and epoch
//
// The removal changes nothing, but makes it a write: all members of etcd agree on its place among the
// transactions. A member that lags could answer a mere read from what it knows. A full etcd does it, too.
// The counter of commits is not compared, because commits run beside it.

#include <cstdint>
#include <memory>

#include "cluster/leading/leadership.h"
#include "cluster/records/keys.h"
#include "etcd/api.h"

namespace holdfast::cluster {

// A lead as a confirmation compares it.
struct Election {
    etcd::Revision elected_at = 0;
    etcd::LeaseId lease = 0;
    std::uint64_t epoch = 0;
};

[[nodiscard]] std::shared_ptr<const etcd::Transaction> plan_confirmation(const Keys& keys,
                                                                         const Election& election);

[[nodiscard]] etcd::Answer<Leadership::Confirmation> judge_confirmation(
    const Election& election, const etcd::Answer<etcd::TransactionAnswer>& answer);

}  // namespace holdfast::cluster
