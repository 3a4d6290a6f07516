#pragma once

// SqliteStore: leases that survive a restart.
//
// A LeaseFile with a thread of its own. The thread writes the commit that it is handed, folds the
// journal a while later, removes old rows of the history, and sleeps while there is nothing to do.
// Another thread, with a connection of its own, reads the history. After a failed commit only the file
// knows what is in it: recover() reads it again.
//
// Thread safety: commit() and recover() from one thread, figures() and read_history() from any;
// `done` is called on a thread of the store.
// Lifetime: the destructor finishes the commit under way, tidies up the file, and closes it.

#include <atomic>
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
#include "base/work_pool.h"
#include "service/ports/clock.h"
#include "service/store.h"
#include "store/journal/journal_file.h"
#include "store/sqlite.h"
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
    // What is kept of the history.
    service::HistoryLimits history = {};
    // The journal is folded as well when so many holds have ended.
    std::size_t journal_holds_max = 2'048;
    // How often old rows are looked for while nothing is written.
    std::chrono::milliseconds trim_every{60'000};
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
    [[nodiscard]] bool keeps_history() const override { return options_.history.is_on(); }
    void read_history(service::HistoryQuery query, service::HistoryDone done) override;
    void end_reading() override { reader_.reset(); }
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
    void trim_if_due();
    void count(const Batch& batch, const service::StoreResult<void>& result,
               std::chrono::nanoseconds time);

    // On the reader's thread.
    [[nodiscard]] SqliteResult<service::HistoryPage> read_now(const service::HistoryQuery& query);

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

    std::chrono::steady_clock::time_point trim_at_;
    std::atomic<std::size_t> history_rows_{0};

    mutable std::mutex figures_mutex_;
    service::StoreFigures figures_;  // but for the size on disk

    // On the reader's thread: made for the first query.
    std::optional<Database> reading_;

    std::thread thread_;
    // The last member: its destructor waits for queries that are under way.
    std::unique_ptr<base::WorkPool> reader_;
};

}  // namespace holdfast::store
