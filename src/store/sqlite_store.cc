#include "store/sqlite_store.h"

#include <utility>

#include "base/check.h"
#include "base/log.h"

namespace holdfast::store {

base::Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::string& path,
                                                             const service::Clock& clock,
                                                             SqliteStoreOptions options) {
    TRY(auto file, LeaseFile::open(path, clock, options.busy_timeout));
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
}

service::StoreResult<service::Recovered> SqliteStore::recover(
    const std::function<bool(const core::RestoreRequest&)>& on_lease) {
    const auto now = options_.read_boot_clock();
    if (!now) return tl::unexpected(service::StoreFailure{.message = now.error().message});
    const std::lock_guard guard(file_mutex_);
    auto recovered = file_.recover(*now, on_lease);
    if (!recovered) return tl::unexpected(to_failure(recovered.error()));
    return *recovered;
}

void SqliteStore::commit(core::Changes changes, service::CommitDone done) {
    {
        const std::lock_guard guard(mutex_);
        CHECK(!batch_);
        batch_ = Batch{.changes = std::move(changes), .done = std::move(done)};
    }
    wake_.notify_one();
}

void SqliteStore::work() {
    Pause pause;
    bool is_ending = false;
    for (;;) {
        auto batch = next_batch(pause, is_ending);
        if (batch) {
            const std::size_t journal_bytes = commit_now(*batch);
            pause = options_.idle_before_fold;
            if (journal_bytes == 0) pause.reset();
            if (journal_bytes <= options_.journal_bytes_max) continue;
        } else if (is_ending) {
            break;
        }
        pause = fold_some();
    }
    fold_all();
}

// What is to be committed next, or nothing when the pause is over, or when the store is to end.
std::optional<SqliteStore::Batch> SqliteStore::next_batch(Pause pause, bool& is_ending) {
    std::unique_lock guard(mutex_);
    const auto is_called = [this] { return batch_ || is_ending_; };
    if (pause) {
        wake_.wait_for(guard, *pause, is_called);
    } else {
        wake_.wait(guard, is_called);
    }
    is_ending = is_ending_;
    return std::exchange(batch_, std::nullopt);
}

// Returns how long the journal is then.
std::size_t SqliteStore::commit_now(const Batch& batch) {
    std::unique_lock guard(file_mutex_);
    const auto written = file_.write(batch.changes);
    const std::size_t journal_bytes = file_.journal_bytes();
    guard.unlock();
    if (written) {
        batch.done({});
    } else {
        batch.done(tl::unexpected(to_failure(written.error())));
    }
    return journal_bytes;
}

// Returns when to go on.
SqliteStore::Pause SqliteStore::fold_some() {
    const std::lock_guard guard(file_mutex_);
    const auto folded = file_.fold(options_.fold_rows_max);
    if (!folded) {
        if (!std::exchange(is_fold_failing_, true)) {
            base::log(base::LogLevel::warning, "cannot fold the journal; trying again",
                      {{"file", path_}, {"reason", folded.error().message}});
        }
        return options_.fold_retry;
    }
    is_fold_failing_ = false;
    if (file_.journal_bytes() > 0) return Pause::value_type::zero();
    return std::nullopt;
}

// What cannot be folded stays in the journal, where the next start finds it.
void SqliteStore::fold_all() {
    while (fold_some() == Pause::value_type::zero()) {
    }
}

service::StoreFailure SqliteStore::to_failure(const SqliteError& error) const {
    return {.is_busy = error.is_busy, .message = path_ + ": " + error.message};
}

}  // namespace holdfast::store
