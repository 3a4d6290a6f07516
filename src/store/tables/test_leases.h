#pragma once

// What the tests of the store share: a temporary folder, leases made up from a number, and the
// stores that have them.

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text/hex.h"
#include "core/values/changes.h"
#include "store/journal/fold.h"
#include "store/sqlite_store.h"
#include "store/tables/lease_row.h"
#include "store/tables/schema.h"

namespace holdfast::store::testing {

using namespace std::chrono_literals;

class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string name = "/tmp/holdfast-store-XXXXXX";
        CHECK(mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() { std::filesystem::remove_all(path_); }

    [[nodiscard]] std::string operator/(const std::string& name) const { return path_ / name; }

  private:
    std::filesystem::path path_;
};

// No file may grow beyond so many bytes while this exists: a full disk, as far as a program can see.
class FullDisk {
  public:
    explicit FullDisk(rlim_t bytes_max) {
        CHECK(getrlimit(RLIMIT_FSIZE, &before_) == 0);
        signal(SIGXFSZ, SIG_IGN);
        const rlimit full{.rlim_cur = bytes_max, .rlim_max = before_.rlim_max};
        CHECK(setrlimit(RLIMIT_FSIZE, &full) == 0);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;
    ~FullDisk() { CHECK(setrlimit(RLIMIT_FSIZE, &before_) == 0); }

  private:
    rlimit before_{};
};

inline std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::string random_bytes(std::mt19937_64& random) {
    static const std::string pieces[] = {
        "a",    "job",  "\"",          "'",        "\\",
        "\n",   "\x7f", "\xC3\xA4",    "\xFF\xFE", std::string(1, '\0'),
        "\x01", "%s",   "\xE2\x82\xAC"};
    std::string bytes = "n";
    for (auto count = random() % 6; count > 0; --count)
        bytes += pieces[random() % std::size(pieces)];
    if (random() % 50 == 0) bytes.append(5000, 'x');
    return bytes;
}

// The text of several scopes.
inline std::string random_set(std::mt19937_64& random) {
    const std::string name = random_bytes(random), path = random_bytes(random);
    return core::set_to_text(std::vector<core::SetMember>{
        {.scope = core::Scope::named(name)},
        {.scope = core::Scope::path(path), .mode = core::Mode::shared},
        {.scope = core::Scope::semaphore(name),
         .limit = 1 + static_cast<std::uint32_t>(random() % 9)},
        {.scope = core::Scope::of_range(random(), {random() / 2, UINT64_MAX - random() % 2})}});
}

// Any row that can exist.
inline LeaseRow random_row(std::mt19937_64& random, std::uint64_t fence) {
    LeaseRow row{.fence = fence, .secret = random()};
    row.kind = static_cast<core::ScopeKind>(random() % 5);
    const bool is_of_inode =
        row.kind == core::ScopeKind::inode || row.kind == core::ScopeKind::range;
    if (is_of_inode) {
        row.inode = random();
    } else {
        row.name = random_bytes(random);
    }
    if (row.kind == core::ScopeKind::range) row.range = {random() / 2, UINT64_MAX - random() % 2};
    row.owner = random_bytes(random);
    row.door = core::Door{static_cast<std::uint8_t>(random())};
    row.mode = random() % 2 == 0 ? core::Mode::shared : core::Mode::exclusive;
    row.permits = static_cast<std::uint32_t>(random());
    row.ttl = core::Duration{static_cast<std::int64_t>(random() % 1'000'000'000 + 1'000)};
    if (random() % 2 == 0) row.grace = core::Duration{static_cast<std::int64_t>(random() % 99 + 1)};
    row.memory = core::Duration{static_cast<std::int64_t>(random() % 100)};
    row.version = random() % (std::uint64_t{1} << 53);
    row.acquired_at =
        service::WallTime{std::chrono::microseconds{random() % 2'000'000'000'000'000}};
    row.expires_at = row.acquired_at + row.ttl;
    if (random() % 2 == 0) row.request_id = random_bytes(random);
    if (random() % 2 == 0) row.metadata = random_bytes(random);
    if (random() % 4 == 0) row.members = random_set(random);
    if (random() % 4 == 0) {
        row.value = random_bytes(random);
        row.revision = 1 + random() % 9;
    }
    if (random() % 4 == 0) row.waiter = random_bytes(random);
    return row;
}

// The event after which the lease is as `row` says. The wall clock shows the engine's time here.
inline core::Event event_of(core::EventKind kind, const LeaseRow& row) {
    return {.kind = kind,
            .lease = {.scope = {.kind = row.kind,
                                .name = row.name,
                                .inode = row.inode,
                                .range = row.range},
                      .owner = {.door = row.door, .name = row.owner},
                      .mode = row.mode,
                      .state = row.state,
                      .token = {core::Fence{row.fence}, core::Secret{row.secret}},
                      .acquired_at = core::Time{row.acquired_at.time_since_epoch()},
                      .expires_at = core::Time{row.expires_at.time_since_epoch()},
                      .ttl = row.ttl,
                      .version = row.version,
                      .notes = {.request_id = row.request_id,
                                .metadata = row.metadata,
                                .waiter = row.waiter},
                      .members = row.members,
                      .value = row.value,
                      .revision = row.revision},
            .grace = row.grace,
            .memory = row.memory,
            .limit = row.permits,
            .has_new_terms = kind == core::EventKind::renewed};
}

// The row as the store gets it from the engine. Its texts are those of `row`.
inline LeaseRowView view_of(const LeaseRow& row) {
    const auto kind =
        row.state == core::LeaseState::grace ? core::EventKind::expired : core::EventKind::granted;
    auto view = to_row<LeaseRowView>(event_of(kind, row), service::WallTime{}, row.start_number);
    view.granted_by = row.granted_by;
    return view;
}

inline void put(Database& database, const LeaseRow& row) {
    auto statement = *prepare_put(database);
    bind_row(statement, view_of(row));
    CHECK(statement.run().has_value());
}

// A file as an older server wrote it: all leases are rows. What that server did not know of a lease
// is lost.
inline void make_old_file(const std::string& path, std::uint32_t version,
                          std::initializer_list<LeaseRow> rows) {
    auto database = *Database::open(path);
    CHECK(prepare_schema(database, version).has_value());
    // A temporary table of the same name takes the rows with all columns of today.
    CHECK(database.run(
        ("CREATE TEMP TABLE locks (" + lease_column_names() + ", PRIMARY KEY (fencing_token))")
            .c_str()));
    for (const LeaseRow& row : rows) put(database, row);
    const std::string columns =
        *database.text("SELECT group_concat(name) FROM pragma_table_info('locks', 'main')");
    const std::string copy = "INSERT INTO main.locks (" + columns + ") SELECT " + columns +
                             " FROM temp.locks;DROP TABLE temp.locks";
    CHECK(database.run(copy.c_str()).has_value());
}

inline core::Changes changes_of(std::initializer_list<core::Event> events) {
    core::Changes changes;
    for (const core::Event& event : events) changes.add(event);
    return changes;
}

using Leases = std::map<std::uint64_t, LeaseRow>;

// A lease of w1, made up from its fencing token.
inline LeaseRow lease(std::uint64_t fence, std::string name) {
    return {
        .fence = fence, .secret = 7 * fence, .name = std::move(name), .owner = "w1", .ttl = 30s};
}

inline LeaseRow lease(std::uint64_t fence) {
    return lease(fence, "job" + std::to_string(fence));
}

// The row of a restored lease, as far as the request tells.
inline LeaseRow row_of(const core::RestoreRequest& request) {
    return {.fence = core::as_number(request.token.fence),
            .secret = static_cast<std::uint64_t>(request.token.secret),
            .kind = request.scope.kind,
            .name = std::string(request.scope.name),
            .inode = request.scope.inode,
            .range = request.scope.range,
            .owner = std::string(request.owner.name),
            .door = request.owner.door,
            .mode = request.mode,
            .permits = request.limit,
            .state = request.is_in_grace ? core::LeaseState::grace : core::LeaseState::held,
            .ttl = request.ttl,
            .grace = request.grace,
            .memory = request.memory,
            .version = request.version,
            .acquired_at = service::WallTime{request.acquired_at.time_since_epoch()},
            .request_id = std::string(request.notes.request_id),
            .metadata = std::string(request.notes.metadata),
            .members = core::set_to_text(request.members),
            .value = std::string(request.value),
            .revision = request.revision,
            .waiter = std::string(request.notes.waiter),
            .granted_by = std::string(request.by)};
}

// Random but possible changes, and the leases that must be found after them.
class RandomHistory {
  public:
    explicit RandomHistory(std::uint64_t seed) : random_(seed) {}

    core::Changes next_batch() {
        core::Changes changes;
        for (auto count = random_() % 20 + 1; count > 0; --count) add_event(changes);
        return changes;
    }
    // As row_of() shows them.
    [[nodiscard]] Leases expected() const {
        Leases rows = live_;
        for (auto& [fence, row] : rows) row.expires_at = {};
        return rows;
    }
    [[nodiscard]] const Leases& live() const { return live_; }
    [[nodiscard]] std::uint64_t last_fence() const { return last_fence_; }
    std::mt19937_64& random() { return random_; }

  private:
    void add_event(core::Changes& changes) {
        using core::EventKind;
        if (live_.empty() || random_() % 2 == 0) {
            const LeaseRow row = random_row(random_, ++last_fence_);
            changes.add(event_of(EventKind::granted, row));
            live_[row.fence] = row;
            return;
        }
        // Mostly young leases, so that many begin and end within a commit.
        auto place = std::prev(live_.end());
        for (auto back = random_() % 10; back > 0 && place != live_.begin(); --back) --place;
        if (random_() % 10 == 0) place = live_.begin();
        LeaseRow& row = place->second;
        if (row.state == core::LeaseState::grace) {
            changes.add(event_of(EventKind::grace_ended, row));
            live_.erase(place);
        } else if (random_() % 3 == 0) {
            row.ttl += 1ms;
            changes.add(event_of(EventKind::renewed, row));
        } else if (random_() % 4 == 0) {
            row.value = random_bytes(random_);
            ++row.revision;
            changes.add(event_of(EventKind::value_set, row));
        } else if (random_() % 2 == 0) {
            changes.add(event_of(EventKind::released, row));
            live_.erase(place);
        } else {
            changes.add(event_of(EventKind::expired, row));
            row.state = core::LeaseState::grace;
            if (row.grace == 0us) live_.erase(place);
        }
    }

    std::mt19937_64 random_;
    Leases live_;
    std::uint64_t last_fence_ = 0;
};

// A clock whose wall time and engine time are the same.
inline service::ManualClock& test_clock() {
    static service::ManualClock clock{service::WallTime{}};
    return clock;
}

inline service::StoreResult<void> commit(SqliteStore& store, const service::Commit& commit) {
    std::promise<service::StoreResult<void>> done;
    store.commit(commit, [&done](const auto& result) { done.set_value(result); });
    return done.get_future().get();
}

inline service::StoreResult<void> commit(SqliteStore& store, const core::Changes& changes,
                                         std::vector<service::FenceMark> fences = {}) {
    service::Commit all{.changes = {}, .fences = std::move(fences)};
    for (const core::Event& event : changes) all.changes.add(event);
    return commit(store, all);
}

struct Found {
    Leases leases;
    std::map<std::uint64_t, core::Duration> remaining;
    std::uint64_t next_fence = 0;
    std::map<std::string, std::uint64_t> fences;
};

inline Found recover(SqliteStore& store) {
    Found found;
    const auto recovered = store.recover([&found](const core::RestoreRequest& request) {
        const std::uint64_t fence = core::as_number(request.token.fence);
        CHECK(found.leases.empty() || found.leases.rbegin()->first < fence);
        found.leases[fence] = row_of(request);
        found.remaining[fence] = request.remaining;
        return true;
    });
    CHECK(recovered.has_value());
    CHECK(recovered->leases == found.leases.size());
    found.next_fence = recovered->next_fence;
    for (const service::FenceMark& mark : recovered->fences) {
        CHECK(found.fences.emplace(mark.resource, mark.highest).second);
    }
    return found;
}

// A lease as a row of `lock_state` shows it.
inline std::string shown(const LeaseRow& row) {
    const auto legible = [](const std::string& text) {
        const auto* const bytes = reinterpret_cast<const std::uint8_t*>(text.data());
        return is_plain_text(text) ? text : "x'" + base::to_hex({bytes, text.size()}) + "'";
    };
    const auto as_signed = [](std::uint64_t number) {
        return std::to_string(static_cast<std::int64_t>(number));
    };
    std::string secret;
    base::append_hex(secret, row.secret);
    const std::chrono::nanoseconds expiry = row.expires_at.time_since_epoch();
    std::string line;
    for (const std::string& value :
         {legible(row.name), legible(row.owner), secret, as_signed(row.fence),
          std::to_string(expiry.count()), as_signed(row.version),
          std::string(core::to_text(row.kind)), std::string(core::to_text(row.mode)),
          std::string(to_text(row.state)), as_signed(row.inode), as_signed(row.range.start),
          as_signed(row.range.end), std::to_string(row.permits), legible(row.members),
          legible(row.value), std::to_string(row.revision)}) {
        line.append(value).append("|");
    }
    return line;
}

inline std::vector<std::string> shown(const Leases& leases) {
    std::vector<std::string> lines;
    for (const auto& [fence, row] : leases) lines.push_back(shown(row));
    return lines;
}

// All of `lock_state`, as another program sees it: without what is only in the journal.
inline std::vector<std::string> folded_rows_of(const std::string& path) {
    auto database = *Database::open(path);
    auto select = *database.prepare("SELECT * FROM lock_state ORDER BY fencing_token");
    std::vector<std::string> rows;
    while (select.step().value()) {
        std::string row;
        for (int column = 0; column < 16; ++column) row.append(select.bytes(column)).append("|");
        rows.push_back(row);
    }
    return rows;
}

inline std::int64_t number_in(const std::string& path, const char* sql) {
    return Database::open(path)->number(sql).value();
}

// A copy of the files of a store, as a crash at this moment would leave them.
inline std::string copy_as_if_crashed(const std::string& path, const std::string& copy) {
    std::filesystem::create_directories(std::filesystem::path(copy).parent_path());
    for (const char* end : {"", "-wal", ".journal"}) {
        std::filesystem::remove(copy + end);
        std::error_code missing;
        std::filesystem::copy_file(path + end, copy + end, missing);
    }
    return copy;
}

// All of `lock_state` after a fold, which is done to a copy.
inline std::vector<std::string> rows_of(const std::string& path) {
    const TemporaryFolder folder;
    const std::string copy = copy_as_if_crashed(path, folder / "copy.db");
    CHECK(fold_file(copy));
    return folded_rows_of(copy);
}

inline std::unique_ptr<SqliteStore> open_store(const std::string& path,
                                               SqliteStoreOptions options = {}) {
    auto store = SqliteStore::open(path, test_clock(), std::move(options));
    CHECK(store.has_value());
    return std::move(*store);
}

}  // namespace holdfast::store::testing
