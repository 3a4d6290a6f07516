#pragma once

// SnapshotReader: reads everything that a new leader must know, as it was at one revision of etcd.
//
// Leases and fences are divided into 256 buckets each. If there are few, one request reads all
// buckets; if there are many, each bucket is read for itself, a few at a time.
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
    std::vector<etcd::KeyValue> history;  // in the order of their keys
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
    // something is damaged or not ours to read. `done` is
    // never called inside this call.
    void read(etcd::Revision revision, Done done);
    // `done` will not be called.
    void cancel();
    [[nodiscard]] bool is_busy() const { return reading_ != nullptr; }

  private:
    struct Reading;
    static constexpr int all_buckets = -1;
    struct Part {
        enum class Kind : std::uint8_t { counter, epoch, leases, fences, history };
        Kind kind = Kind::counter;
        int bucket = all_buckets;
    };

    void ask_more();
    void ask(Part part);
    void set_range(etcd::RangeRequest& request, Part part,
                   std::string (Keys::*bucket)(int) const) const;
    void on_answer(Part part, const etcd::Answer<etcd::RangeAnswer>& answer);
    [[nodiscard]] base::Result<void> take(Part part, const etcd::RangeAnswer& answer);
    [[nodiscard]] base::Result<void> take_lease(const etcd::KeyValue& entry);
    [[nodiscard]] base::Result<void> take_fence(const etcd::KeyValue& entry);
    void end(tl::expected<void, etcd::Failure> result);

    etcd::Api& etcd_;
    TimerSlots& slots_;
    const Keys& keys_;
    std::shared_ptr<Reading> reading_;
};

}  // namespace holdfast::cluster
