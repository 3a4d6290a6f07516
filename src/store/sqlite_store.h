#pragma once

// SqliteStore: leases that survive a restart.
//
// A LeaseFile with a thread of its own. The thread writes the commit that it is handed, folds the
// journal a while later, and sleeps while there is neither to do. After a failed commit only the file
// knows what is in it: recover() reads it again.
//
// Thread safety: commit() and recover() from one thread, figures() from any; `done` is called on
// the thread of the store.
// Lifetime: the destructor finishes the commit under way, tidies up the file, and closes it.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "service/ports/clock.h"
#include "service/store.h"
#include "store/journal/journal_file.h"
#include "store/tables/lease_file.h"
#include "store/tables/starts.h"

namespace holdfast::store {

// Tests choose other values.
struct SqliteStoreOptions {
    // A commit that finds the file locked by another program tries this long before it fails.
    std::chrono::milliseconds busy_timeout{3'000};
    // The journal is folded when so many rows have to be written, or so long after the first commit
    // in it. Of a lease that ends before, nothing is written.
    std::size_t journal_changes_max = 8'192;
    std::chrono::milliseconds fold_after{1'000};
    // A multiple of JournalFile::block_bytes.
    std::size_t journal_bytes_max = JournalFile::size_max;
    std::function<base::Result<BootClock>()> read_boot_clock = BootClock::read;
};

class SqliteStore final : public service::Store {
  public:
    // Opens or makes the file at `path`, and its folder. Fails with a sentence for people when
    // another server has it, when it is not ours, newer, damaged, or cannot be written; it is left
    // alone then. `clock` outlives the store.
    [[nodiscard]] static base::Result<std::unique_ptr<SqliteStore>> open(
        const std::string& path, const service::Clock& clock, SqliteStoreOptions options = {});
    ~SqliteStore() override;

    [[nodiscard]] bool is_volatile() const override { return false; }
    [[nodiscard]] service::CommitLimits commit_limits() const override;
    // Calls `done` before it returns.
    void recover(service::OnRecoveredLease on_lease, service::RecoverDone done) override;
    [[nodiscard]] service::StoreResult<service::Recovered> recover(
        const service::OnRecoveredLease& on_lease);
    // REQUIRES also: recover() has succeeded, and again after a commit that failed.
    void commit(const service::Commit& commit, service::CommitDone done) override;
    [[nodiscard]] service::StoreFigures figures() const override;

  private:
    struct Batch {
        const service::Commit* commit;
        service::CommitDone done;
    };

    SqliteStore(std::string path, LeaseFile file, SqliteStoreOptions options);

    // On the store's thread.
    void work();
    std::optional<Batch> next_batch();
    void commit_now(const Batch& batch);
    void fold_if_due();
    void count(const Batch& batch, const service::StoreResult<void>& result,
               std::chrono::nanoseconds time);

    service::StoreFailure to_failure(const SqliteError& error) const;

    const std::string path_;
    const SqliteStoreOptions options_;

    std::mutex file_mutex_;
    LeaseFile file_;

    std::mutex mutex_;
    std::condition_variable wake_;
    std::optional<Batch> batch_;  // handed in, not yet taken
    bool is_ending_ = false;
    // On the store's thread: when the journal is to be folded, if there is something in it.
    std::optional<std::chrono::steady_clock::time_point> fold_at_;

    mutable std::mutex figures_mutex_;
    service::StoreFigures figures_;  // but for the size on disk

    std::thread thread_;
};

}  // namespace holdfast::store
