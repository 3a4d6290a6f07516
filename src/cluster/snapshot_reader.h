#pragma once

// SnapshotReader: reads everything that a new leader must know, as it was at one revision of etcd.
//
// Everything is read in pages. A page has so many keys that its values are about 4 MiB, judging by the
// page before. When an answer is larger than the client takes, or does not come in time again and
// again, the same keys are asked for in half as many at a time. So it does not matter how many leases
// and how large values clients have made.
//
// Leases and fences are divided into 256 buckets each. If there are few, all buckets are read one
// page after the other; if there are many, each bucket is read for itself, a few at a time.
//
// At the revision of its own election a node sees whatever an older leader could commit: no member
// can answer with less, and nothing of an older leader comes after it.
//
// Thread safety: none; on the thread of the loop.
// Lifetime: `etcd`, `slots` and `keys` outlive this; nothing is called after the destructor.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/records/keys.h"
#include "cluster/records/lease_record.h"
#include "cluster/records/records.h"
#include "cluster/timers.h"
#include "etcd/api.h"
#include "service/books/fence.h"

namespace holdfast::cluster {

struct Snapshot {
    std::vector<LeaseRecord> leases;  // in the order of their fencing numbers
    std::vector<service::FenceMark> fences;
    // In the order of their keys. Of the oldest, beyond 32 MiB of values, only the keys.
    std::vector<etcd::KeyValue> history;
    Counter counter;
    std::uint64_t epoch = 0;
    std::uint64_t last_fence = 0;  // the largest number that must not be given out again
};

class SnapshotReader {
  public:
    using Done = std::function<void(etcd::Answer<Snapshot>)>;

    SnapshotReader(etcd::Api& etcd, TimerSlots& slots, const Keys& keys)
        : etcd_(etcd), slots_(slots), keys_(keys) {}

    // Reads until it has everything, however often etcd fails; forgets a reading under way. Fails if
    // there is no use in going on: as `compacted` if the revision is gone, and as `rejected` if
    // something is damaged, or not ours to read, or if a single value is larger than an answer may be.
    // `done` is never called inside this call.
    void read(etcd::Revision revision, Done done);
    // `done` will not be called.
    void cancel();
    [[nodiscard]] bool is_busy() const { return reading_ != nullptr; }

  private:
    struct Reading;
    enum class Kind : std::uint8_t { counter, epoch, leases, fences, history };
    // What is still to be read of one kind, or of one of its buckets.
    struct Part {
        Kind kind = Kind::counter;
        bool are_all_buckets = false;
        std::string key = {}, range_end = {};  // as in a RangeRequest
        std::int64_t limit = 1;                // how many keys the next page may have
        int failures = 0;                      // of the next page
    };

    void ask_more();
    void ask(Part part);
    void on_answer(Part part, const etcd::Answer<etcd::RangeAnswer>& answer);
    void on_failure(Part part, const etcd::Failure& failure);
    [[nodiscard]] base::Result<void> take(Part part, const etcd::RangeAnswer& answer);
    void add_buckets(Kind kind, std::int64_t limit);
    [[nodiscard]] base::Result<void> take_entry(Kind kind, const etcd::KeyValue& entry);
    [[nodiscard]] base::Result<void> take_lease(const etcd::KeyValue& entry);
    [[nodiscard]] base::Result<void> take_fence(const etcd::KeyValue& entry);
    void take_history(const etcd::KeyValue& entry);
    void end(tl::expected<void, etcd::Failure> result);

    etcd::Api& etcd_;
    TimerSlots& slots_;
    const Keys& keys_;
    std::shared_ptr<Reading> reading_;
};

}  // namespace holdfast::cluster
