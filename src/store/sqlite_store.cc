#include "store/sqlite_store.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "store/journal/journal_file.h"

namespace holdfast::store {

base::Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::string& path,
                                                             const service::Clock& clock,
                                                             SqliteStoreOptions options) {
    TRY(auto file, LeaseFile::open(path, clock,
                                   {.busy_timeout = options.busy_timeout,
                                    .journal = {.changes_max = options.journal_changes_max,
                                                .bytes_max = options.journal_bytes_max,
                                                .holds_max = options.journal_holds_max,
                                                .history = options.history}}));
    return std::unique_ptr<SqliteStore>(new SqliteStore(path, std::move(file), std::move(options)));
}

SqliteStore::SqliteStore(std::string path, LeaseFile file, SqliteStoreOptions options)
    : path_(std::move(path)),
      options_(std::move(options)),
      file_(std::move(file)),
      trim_at_(std::chrono::steady_clock::now() + options_.trim_every),
      thread_([this] { work(); }) {
    if (keeps_history()) reader_ = std::make_unique<base::WorkPool>(1);
}

SqliteStore::~SqliteStore() {
    reader_.reset();
    reading_.reset();
    {
        const std::lock_guard guard(mutex_);
        is_ending_ = true;
    }
    wake_.notify_one();
    thread_.join();
    file_.tidy_up();
}

// As many changes as a long commit of the disk lets pile up on a busy server. A commit waits for half
// the time of the last one at most, and on a slow disk not even that.
service::CommitLimits SqliteStore::commit_limits() const {
    return {.changes_max = std::size_t{1} << 16,
            .text_bytes_max = std::size_t{64} << 20,
            .gather_max = std::chrono::milliseconds{1}};
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
    const std::lock_guard guard(file_mutex_);
    auto recovered = file_.recover(now, on_lease).map_error(failure);
    history_rows_ = file_.history_rows();
    return recovered;
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
    while (const auto batch = next_batch()) {
        commit_now(*batch);
        fold_if_due();
    }
}

// Waits for the next commit, and folds the journal and removes old rows meanwhile. No value: the
// store is to end.
std::optional<SqliteStore::Batch> SqliteStore::next_batch() {
    const auto is_over = [this] { return batch_ || is_ending_; };
    std::unique_lock guard(mutex_);
    while (!wake_.wait_until(guard, fold_at_ ? std::min(*fold_at_, trim_at_) : trim_at_, is_over)) {
        guard.unlock();
        fold_if_due();
        trim_if_due();
        guard.lock();
    }
    return std::exchange(batch_, std::nullopt);
}

// The clients were told of their commit before. If the fold fails, it is tried again later; the
// journal takes commits as long as it has room.
void SqliteStore::fold_if_due() {
    const std::lock_guard guard(file_mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (file_.has_unfolded() && (file_.is_journal_long() || (fold_at_ && *fold_at_ <= now))) {
        if (!file_.fold()) fold_at_ = now + options_.fold_after;
    }
    history_rows_ = file_.history_rows();
    if (!file_.has_unfolded()) {
        fold_at_.reset();
    } else if (!fold_at_) {
        fold_at_ = now + options_.fold_after;
    }
}

// In small steps: a commit that comes meanwhile waits for one of them.
void SqliteStore::trim_if_due() {
    constexpr std::chrono::milliseconds pause{20};
    const auto now = std::chrono::steady_clock::now();
    if (now < trim_at_) return;
    const std::lock_guard guard(file_mutex_);
    const auto has_more = file_.trim_history();
    history_rows_ = file_.history_rows();
    trim_at_ = now + (has_more && *has_more ? pause : options_.trim_every);
}

// The newest rows are in the journal: it is folded first.
SqliteResult<service::HistoryPage> SqliteStore::read_now(const service::HistoryQuery& query) {
    {
        const std::lock_guard guard(file_mutex_);
        if (file_.has_unfolded_holds()) TRY(file_.fold());
        history_rows_ = file_.history_rows();
    }
    if (!reading_) {
        TRY(auto database, Database::open(path_));
        database.set_busy_timeout(options_.busy_timeout);
        TRY(database.run("PRAGMA query_only=1"));
        reading_ = std::move(database);
    }
    return store::read_history(*reading_, query);
}

void SqliteStore::read_history(service::HistoryQuery query, service::HistoryDone done) {
    CHECK(reader_);
    reader_->run([this, query = std::move(query), done = std::move(done)] {
        done(read_now(query).map_error(
            [this](const SqliteError& error) { return to_failure(error); }));
    });
}

void SqliteStore::commit_now(const Batch& batch) {
    const auto failure = [this](const SqliteError& error) { return to_failure(error); };
    const auto begin = std::chrono::steady_clock::now();
    std::unique_lock guard(file_mutex_);
    const auto written = file_.write(*batch.commit).map_error(failure);
    guard.unlock();
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
    figures.history_rows = history_rows_;
    for (const std::string& path : {path_, path_ + "-wal", journal_path(path_)}) {
        std::error_code error;
        const auto bytes = std::filesystem::file_size(path, error);
        if (!error) figures.disk_bytes += bytes;
    }
    return figures;
}

// If COMMIT or a write to the journal fails, the commit may be there all the same. recover() finds
// out.
service::StoreFailure SqliteStore::to_failure(const SqliteError& error) const {
    using Kind = service::StoreFailure::Kind;
    return {.kind = error.may_be_committed ? Kind::unknown : Kind::not_done,
            .is_busy = error.is_busy,
            .message = path_ + ": " + error.message};
}

}  // namespace holdfast::store
