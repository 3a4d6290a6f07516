#include "store/sqlite_store.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/check.h"

namespace holdfast::store {

base::Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::string& path,
                                                             const service::Clock& clock,
                                                             SqliteStoreOptions options) {
    TRY(auto file, LeaseFile::open(path, clock,
                                   {.busy_timeout = options.busy_timeout,
                                    .journal_changes_max = options.journal_changes_max}));
    return std::unique_ptr<SqliteStore>(new SqliteStore(path, std::move(file), std::move(options)));
}

SqliteStore::SqliteStore(std::string path, LeaseFile file, SqliteStoreOptions options)
    : path_(std::move(path)),
      options_(std::move(options)),
      file_(std::move(file)),
      thread_([this] { work(); }) {}

SqliteStore::~SqliteStore() {
    {
        const std::lock_guard guard(mutex_);
        is_ending_ = true;
    }
    wake_.notify_one();
    thread_.join();
    file_.tidy_up();
}

// As many changes as a long commit of the disk lets pile up on a busy server.
service::CommitLimits SqliteStore::commit_limits() const {
    return {.changes_max = std::size_t{1} << 16, .text_bytes_max = std::size_t{64} << 20};
}

void SqliteStore::recover(service::OnRecoveredLease on_lease, service::RecoverDone done) {
    done(recover(on_lease));
}

service::StoreResult<service::Recovered> SqliteStore::recover(
    const service::OnRecoveredLease& on_lease) {
    TRY(const auto now, options_.read_boot_clock().map_error([](const base::Error& error) {
        return service::StoreFailure{.message = error.message};
    }));
    const auto failure = [this](const SqliteError& error) { return to_failure(error); };
    return file_.recover(now, on_lease).map_error(failure);
}

void SqliteStore::commit(const service::Commit& commit, service::CommitDone done) {
    {
        const std::lock_guard guard(mutex_);
        CHECK(!batch_);
        batch_ = Batch{.commit = &commit, .done = std::move(done)};
    }
    wake_.notify_one();
}

void SqliteStore::work() {
    while (const auto batch = next_batch()) commit_now(*batch);
}

// Waits for the next commit. No value: the store is to end.
std::optional<SqliteStore::Batch> SqliteStore::next_batch() {
    std::unique_lock guard(mutex_);
    wake_.wait(guard, [this] { return batch_ || is_ending_; });
    return std::exchange(batch_, std::nullopt);
}

void SqliteStore::commit_now(const Batch& batch) {
    const auto failure = [this](const SqliteError& error) { return to_failure(error); };
    const auto begin = std::chrono::steady_clock::now();
    const auto written = file_.write(*batch.commit).map_error(failure);
    count(batch, written, std::chrono::steady_clock::now() - begin);
    batch.done(written);
}

void SqliteStore::count(const Batch& batch, const service::StoreResult<void>& result,
                        std::chrono::nanoseconds time) {
    const std::size_t size = batch.commit->size();
    const std::lock_guard guard(figures_mutex_);
    if (result) {
        ++figures_.commits;
        figures_.changes += size;
        figures_.commit_seconds.add(std::chrono::duration<double>(time).count());
        figures_.batch_sizes.add(static_cast<double>(size));
    } else {
        ++figures_.commit_failures;
        if (result.error().is_busy) ++figures_.busy_failures;
    }
}

service::StoreFigures SqliteStore::figures() const {
    std::unique_lock guard(figures_mutex_);
    service::StoreFigures figures = figures_;
    guard.unlock();
    for (const char* ending : {"", "-wal"}) {
        std::error_code error;
        const auto bytes = std::filesystem::file_size(path_ + ending, error);
        if (!error) figures.disk_bytes += bytes;
    }
    return figures;
}

// If COMMIT fails, the transaction may be in the write-ahead log all the same, until recover() has
// written there.
service::StoreFailure SqliteStore::to_failure(const SqliteError& error) const {
    using Kind = service::StoreFailure::Kind;
    return {.kind = error.may_be_committed ? Kind::unknown : Kind::not_done,
            .is_busy = error.is_busy,
            .message = path_ + ": " + error.message};
}

}  // namespace holdfast::store
