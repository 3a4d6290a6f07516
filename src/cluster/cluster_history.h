#pragma once

// ClusterHistory: the history of a cluster. etcd has it, and the leader has all of it in memory, from
// where queries are answered.
//
// The holds that end in a commit are written in the transactions of that commit, behind the removals
// of their leases: one value for many holds (`history/NUMBER`, the number of its first hold). A value
// whose holds are all too old, or too many, is removed by a later commit, or between commits; always
// more values than the commit adds, so that the history shrinks under every load. The next leader reads
// what there is. It is small by default: etcd keeps everything in memory, and copies it to each member.
//
// The history is a by-product. What etcd does not take of it is dropped and counted, and never a reason
// for a commit to fail.
//
// How a hold began (service::HoldBegin) is in the record of its lease, for the next leader, and then in
// the hold.
//
// Thread safety: read() and size() from any thread, everything else on the service's thread.
// Lifetime: `keys` outlives this.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/records/keys.h"
#include "cluster/records/lease_record.h"
#include "etcd/wire/messages.h"
#include "service/commit_effect.h"
#include "service/history/history_ring.h"
#include "service/history/hold.h"
#include "service/history/open_holds.h"

namespace holdfast::cluster {

// Holds as etcd has them: compact JSON. A text that is no UTF-8 is written in hexadecimal digits, as
// in a lease (lease_record.h).
[[nodiscard]] std::string to_text(const std::vector<service::Hold>& holds);
// Their numbers begin with `first`.
[[nodiscard]] base::Result<std::vector<service::Hold>> parse_holds(std::uint64_t first,
                                                                   std::string_view text);

class ClusterHistory {
  public:
    ClusterHistory(const service::HistoryLimits& limits, const Keys& keys)
        : is_on_(limits.is_on()), bytes_max_(limits.bytes_max), keys_(keys), ring_(limits) {}

    [[nodiscard]] bool is_on() const { return is_on_; }

    // What a commit writes. `may_grow`: false while etcd is nearly full; then nothing is added, and the
    // holds that end are dropped.
    [[nodiscard]] std::vector<etcd::Operation> plan(const service::CommitEffect& effect,
                                                    service::WallTime epoch, bool may_grow);
    // The commit that was planned last is done, but for what was planned for the keys in `left_out`.
    void on_committed(service::WallTime now, const std::vector<std::string>& left_out = {});
    // Removes what has become too old while nothing was committed. Such removals may be done twice.
    [[nodiscard]] std::vector<etcd::Operation> plan_removals(service::WallTime now);
    void on_removed(const std::vector<etcd::Operation>& removals);

    // How the hold of a lease began that lives, or is about to be written. Good until the next change.
    [[nodiscard]] service::HoldBegin begin_of(std::uint64_t fence) const {
        return open_.find(fence);
    }

    // Begins with what etcd has: the values below Keys::histories(), and the leases that live.
    // Damaged values are left out: they must not keep a node from leading.
    void begin(const std::vector<etcd::KeyValue>& entries, const std::vector<LeaseRecord>& leases,
               service::WallTime now);
    // This node does not lead any more.
    void clear();

    [[nodiscard]] service::HistoryPage read(const service::HistoryQuery& query,
                                            service::WallTime now) {
        return ring_.read(query, now);
    }
    [[nodiscard]] std::size_t size() const { return ring_.size(); }
    // How many holds were not written since the program began.
    [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

  private:
    // A value in etcd, or to be written there.
    struct Value {
        std::uint64_t number = 0;  // of its first hold
        std::vector<service::Hold> holds = {};
        std::string text = {};
        std::size_t bytes = 0;
    };

    void forget_plan();
    void pack(std::vector<service::Hold> ending);
    [[nodiscard]] std::vector<std::uint64_t> choose_removals(std::size_t most);
    void forget_value(std::uint64_t number);

    const bool is_on_;
    const std::size_t bytes_max_;
    const Keys& keys_;
    service::HistoryRing ring_;
    service::OpenHolds open_;
    std::map<std::uint64_t, std::size_t> values_;  // in etcd, and their bytes
    std::size_t value_bytes_ = 0;                  // of all of them
    std::uint64_t looked_at_ = 0;                  // values with smaller numbers were looked at
    std::uint64_t dropped_ = 0;
    // Of the commit that was planned last.
    std::vector<std::uint64_t> ended_fences_;
    std::vector<Value> adding_;
    std::vector<std::uint64_t> removing_;
};

}  // namespace holdfast::cluster
