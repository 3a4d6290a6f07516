#pragma once

// A disk that outlives the server, and the store that a run of the server keeps on it.
//
// The disk promises what a real one does. A write that was acknowledged is there for ever. One that
// was under way when the server died, or that failed, is there or not, as a whole; which of the two
// is seen by whoever looks next. The disk says `not_done` only of a write that is not there. While
// it is in trouble (full, locked, broken) nothing can be written or read. What is found again is re-armed by the rules of the real store, with its own
// LeaseAges and its own rows.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "service/commit_effect.h"
#include "service/store.h"
#include "sim/machine.h"
#include "sim/settings.h"
#include "sim/store_hooks.h"
#include "sim/world.h"
#include "store/tables/lease_row.h"
#include "store/tables/starts.h"

namespace holdfast::sim {

struct Disk {
    // What a commit writes, as a copy.
    struct Write {
        std::vector<store::LeaseRow> puts;
        std::vector<std::uint64_t> ends;  // by fencing number
        std::uint64_t last_token = 0;     // the largest number written or reserved
        std::vector<service::FenceMark> fences;
        std::vector<std::uint64_t> holds;  // that have ended, by fencing number
        // Leases that were transient until this commit, and ended in it: never a row, but told.
        std::vector<std::uint64_t> briefly_kept;
    };

    void apply(const Write& write);
    // See find_fault().
    [[nodiscard]] std::string fault_of_history() const;

    std::map<std::uint64_t, store::LeaseRow> rows;  // by fencing number
    std::uint64_t last_token = 0;
    std::map<std::string, std::uint64_t> fences;  // the largest number each resource has seen
    std::map<std::uint64_t, int> history;         // how many rows each hold has
    std::set<std::uint64_t> written;              // every lease that ever was a row, or nearly
    std::vector<store::Start> starts;
    std::optional<Write> in_doubt;  // under way, or failed
    Moment last_landed;
    std::optional<service::StoreFailure> trouble;
};

class DiskStore final : public service::Store {
  public:
    // Everything outlives the store.
    struct Parts {
        World& world;
        const Machine& machine;
        const Faults& faults;
        Disk& disk;
        std::size_t commit_changes_max;
    };

    DiskStore(Parts parts, StoreHooks hooks) : parts_(parts), hooks_(std::move(hooks)) {}

    [[nodiscard]] bool is_volatile() const override { return false; }
    [[nodiscard]] service::CommitLimits commit_limits() const override {
        return {.changes_max = parts_.commit_changes_max};
    }
    void recover(service::OnRecoveredLease on_lease, service::RecoverDone done) override;
    void commit(const service::Commit& commit, service::CommitDone done) override;

    using service::Store::set_authority_deadline;

  private:
    [[nodiscard]] service::StoreResult<service::Recovered> read(
        const service::OnRecoveredLease& on_lease);
    [[nodiscard]] Disk::Write to_write(const service::Commit& commit);
    void land(const service::CommitDone& done);
    [[nodiscard]] bool is_time_to_crash();

    const Parts parts_;
    const StoreHooks hooks_;
    service::CommitEffect effect_;  // of the commit that was handed in last
};

}  // namespace holdfast::sim
