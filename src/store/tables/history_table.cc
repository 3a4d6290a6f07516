#include "store/tables/history_table.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::store {

namespace {

using service::WallTime;

constexpr const char* add_sql =
    "INSERT OR IGNORE INTO history (number, fencing_token, lock_name, owner_id, door, kind, mode, "
    "inode, range_start, range_end, metadata, waited_us, acquired_ns, ended_ns, ended, members, "
    "granted_by, ended_by) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";

constexpr const char* copy_sql =
    "INSERT OR IGNORE INTO history (number, fencing_token, lock_name, owner_id, door, kind, mode, "
    "inode, range_start, range_end, metadata, waited_us, acquired_ns, ended_ns, ended, members, "
    "granted_by, ended_by) SELECT ?2, fencing_token, lock_name, owner_id, door, kind, mode, inode, "
    "range_start, "
    "range_end, metadata, "
    "coalesce((SELECT waited_us FROM waits WHERE waits.fencing_token = ?1), 0), "
    "acquired_ns, ?3, ?4, members, granted_by, ?5 FROM locks WHERE fencing_token = ?1";

constexpr const char* columns =
    "number, fencing_token, lock_name, owner_id, door, kind, mode, inode, range_start, range_end, "
    "metadata, waited_us, acquired_ns, ended_ns, ended, members, granted_by, ended_by";

// Times beyond those that nanoseconds can say become the last one.
std::int64_t to_ns(WallTime time) {
    constexpr WallTime::duration max{INT64_MAX / 1'000};
    const std::chrono::nanoseconds since_epoch = std::clamp(time.time_since_epoch(), -max, max);
    return since_epoch.count();
}
WallTime from_ns(std::int64_t count) {
    return WallTime{
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::nanoseconds{count})};
}

std::optional<service::Hold> read_hold(const Statement& row) {
    for (const int column : {0, 1, 4, 7, 8, 9, 11, 12, 13}) {
        if (!row.is_integer(column)) return std::nullopt;
    }
    const auto kind = core::parse_kind(row.bytes(5));
    const auto ending = service::parse_ending(row.bytes(14));
    const std::int64_t door = row.number(4);
    if (!kind || !ending || door < 0 || door > 0xff) return std::nullopt;
    const auto unsigned_number = [&row](int column) {
        return std::bit_cast<std::uint64_t>(row.number(column));
    };
    const bool is_shared = row.bytes(6) == core::to_text(core::Mode::shared);
    return service::Hold{.number = unsigned_number(0),
                         .fence = unsigned_number(1),
                         .kind = *kind,
                         .name = std::string(row.bytes(2)),
                         .inode = unsigned_number(7),
                         .range = {.start = unsigned_number(8), .end = unsigned_number(9)},
                         .owner = std::string(row.bytes(3)),
                         .door = core::Door{static_cast<std::uint8_t>(door)},
                         .mode = is_shared ? core::Mode::shared : core::Mode::exclusive,
                         .waited = core::Duration{row.number(11)},
                         .acquired_at = from_ns(row.number(12)),
                         .ended_at = from_ns(row.number(13)),
                         .ending = *ending,
                         .metadata = std::string(row.bytes(10)),
                         .members = std::string(row.bytes(15)),
                         .granted_by = std::string(row.bytes(16)),
                         .ended_by = std::string(row.bytes(17))};
}

bool is_on_name(const service::HistoryQuery& query) {
    return query.kind && *query.kind != core::ScopeKind::inode &&
           *query.kind != core::ScopeKind::range;
}

// SQLite leaves out most rows; matches() decides.
SqliteResult<Statement> select_for(Database& database, const service::HistoryQuery& query) {
    std::string sql = std::string("SELECT ") + columns + " FROM history WHERE number < ?1";
    // A set is on other scopes than its first, too.
    if (is_on_name(query)) sql += " AND (lock_name = ?2 OR members <> '')";
    if (query.kind && !is_on_name(query)) {
        sql += " AND (inode = ?2 AND kind IN ('inode', 'range') OR members <> '')";
    }
    if (!query.owner.empty()) sql += " AND owner_id = ?3";
    if (query.since) sql += " AND ended_ns >= ?4";
    if (query.until) sql += " AND acquired_ns < ?5";
    sql += " ORDER BY number DESC";
    TRY(auto select, database.prepare(sql.c_str()));
    select.bind(1, query.after == 0 ? INT64_MAX : std::bit_cast<std::int64_t>(query.after));
    if (is_on_name(query)) select.bind(2, query.name);
    if (query.kind && !is_on_name(query)) select.bind(2, std::bit_cast<std::int64_t>(query.inode));
    if (!query.owner.empty()) select.bind(3, query.owner);
    if (query.since) select.bind(4, to_ns(*query.since));
    if (query.until) select.bind(5, to_ns(*query.until));
    return select;
}

}  // namespace

HistoryWriter::HistoryWriter(Statement newest, Statement add, Statement copy, Statement note,
                             Statement forget)
    : newest_(std::move(newest)),
      add_(std::move(add)),
      copy_(std::move(copy)),
      note_(std::move(note)),
      forget_(std::move(forget)) {}

SqliteResult<HistoryWriter> HistoryWriter::prepare(Database& database) {
    TRY(auto newest,
        database.prepare("SELECT max(coalesce((SELECT max(number) FROM history), 0), coalesce("
                         "(SELECT waited_us FROM waits WHERE fencing_token = 0), 0))"));
    TRY(auto add, database.prepare(add_sql));
    TRY(auto copy, database.prepare(copy_sql));
    TRY(auto note, database.prepare("INSERT OR REPLACE INTO waits VALUES (?, ?)"));
    TRY(auto forget, database.prepare("DELETE FROM waits WHERE fencing_token = ?"));
    return HistoryWriter(std::move(newest), std::move(add), std::move(copy), std::move(note),
                         std::move(forget));
}

SqliteResult<std::int64_t> HistoryWriter::next_number() {
    const auto is_found = newest_.step();
    const std::int64_t newest = is_found && *is_found ? newest_.number(0) : 0;
    newest_.reset();
    if (!is_found) return tl::unexpected(is_found.error());
    return newest + 1;
}

SqliteResult<void> HistoryWriter::add(const LeaseRowView& lease, core::Duration waited,
                                      const End& end) {
    const auto bind_bits = [this](int place, std::uint64_t number) {
        add_.bind(place, std::bit_cast<std::int64_t>(number));
    };
    add_.bind(1, end.number);
    bind_bits(2, lease.fence);
    add_.bind(3, lease.name);
    add_.bind(4, lease.owner);
    add_.bind(5, static_cast<std::int64_t>(lease.door));
    add_.bind_text(6, core::to_text(lease.kind));
    add_.bind_text(7, core::to_text(lease.mode));
    bind_bits(8, lease.inode);
    bind_bits(9, lease.range.start);
    bind_bits(10, lease.range.end);
    add_.bind(11, lease.metadata);
    add_.bind(12, std::int64_t{waited.count()});
    add_.bind(13, to_ns(lease.acquired_at));
    add_.bind(14, to_ns(end.at));
    add_.bind_text(15, service::to_text(end.ending));
    add_.bind(16, lease.members);
    add_.bind(17, lease.granted_by);
    add_.bind(18, end.by);
    return add_.run();
}

SqliteResult<void> HistoryWriter::copy(std::uint64_t fence, const End& end) {
    copy_.bind(1, std::bit_cast<std::int64_t>(fence));
    copy_.bind(2, end.number);
    copy_.bind(3, to_ns(end.at));
    copy_.bind_text(4, service::to_text(end.ending));
    copy_.bind(5, end.by);
    return copy_.run();
}

SqliteResult<void> HistoryWriter::note_wait(std::uint64_t fence, core::Duration waited) {
    note_.bind(1, std::bit_cast<std::int64_t>(fence));
    note_.bind(2, std::int64_t{waited.count()});
    return note_.run();
}

SqliteResult<void> HistoryWriter::forget_wait(std::uint64_t fence) {
    forget_.bind(1, std::bit_cast<std::int64_t>(fence));
    return forget_.run();
}

namespace {

// The number in the first row of a query; 0 if it has none.
SqliteResult<std::int64_t> number_of(Statement& select) {
    TRY(const bool has_row, select.step());
    return has_row ? select.number(0) : 0;
}

// If the row with the largest number of all is gone, `waits` has its number.
SqliteResult<void> keep_last_number(Database& database, std::int64_t newest) {
    TRY(auto keep, database.prepare("INSERT OR REPLACE INTO waits SELECT 0, ?1 WHERE NOT EXISTS "
                                    "(SELECT 1 FROM history WHERE number = ?1)"));
    keep.bind(1, newest);
    return keep.run();
}

}  // namespace

SqliteResult<HistoryExtent> read_history_extent(Database& database) {
    HistoryExtent extent;
    TRY(extent.oldest, database.number("SELECT coalesce(min(number), 0) FROM history"));
    TRY(extent.newest, database.number("SELECT coalesce(max(number), 0) FROM history"));
    return extent;
}

SqliteResult<bool> HistoryTrim::step(Database& database, const service::HistoryLimits& limits,
                                     WallTime now, std::size_t rows_max) {
    if (!limits.is_on() && !limits.removes_old_rows) return false;
    TRY(const auto extent, read_history_extent(database));
    TRY(auto first, database.prepare("SELECT coalesce(min(number), 0) FROM history "
                                     "WHERE number >= ?1"));
    first.bind(1, next_);
    TRY(const std::int64_t begin, number_of(first));
    if (begin == 0) {
        holes_ = 0;
        begin_again();
        return false;
    }
    const std::int64_t end = begin + static_cast<std::int64_t>(rows_max);
    const auto kept = static_cast<std::int64_t>(
        limits.is_on() ? std::min(limits.rows_max, static_cast<std::size_t>(INT64_MAX)) : 0);
    // Everything up to this number is too much.
    const std::int64_t excess = std::max(extent.newest - kept, std::int64_t{0});
    TRY(auto remove, database.prepare("DELETE FROM history WHERE number >= ?1 AND number < ?2 AND "
                                      "(number <= ?3 OR ended_ns < ?4)"));
    remove.bind(1, begin);
    remove.bind(2, end);
    remove.bind(3, excess);
    remove.bind(4, to_ns(now - limits.age_max));
    TRY(remove.run());
    if (end > extent.newest) TRY(keep_last_number(database, extent.newest));
    TRY(auto find, database.prepare("SELECT number FROM history WHERE number >= ?1 AND number < ?2 "
                                    "AND ended_ns <= ?3 ORDER BY number LIMIT 1"));
    find.bind(1, begin);
    find.bind(2, end);
    find.bind(3, to_ns(now));
    TRY(const std::int64_t stays, number_of(find));
    const std::int64_t seen_up_to = stays != 0 ? stays : std::min(end, extent.newest + 1);
    TRY(auto count,
        database.prepare("SELECT count(*) FROM history WHERE number >= ?1 AND number < ?2"));
    count.bind(1, begin);
    count.bind(2, seen_up_to);
    TRY(const std::int64_t from_the_future, number_of(count));
    left_behind_ += from_the_future;
    next_ = end;
    if (stays == 0 && end <= extent.newest) return true;
    TRY(const auto left, read_history_extent(database));
    holes_ =
        left.oldest == 0 ? 0 : std::max(seen_up_to - left.oldest - left_behind_, std::int64_t{0});
    begin_again();
    return false;
}

SqliteResult<service::HistoryPage> read_history(Database& database,
                                                const service::HistoryQuery& query) {
    service::HistoryPage page;
    TRY(auto select, select_for(database, query));
    for (;;) {
        TRY(const bool has_row, select.step());
        if (!has_row) break;
        auto hold = read_hold(select);
        if (!hold || !service::matches(query, *hold)) continue;
        if (page.is_full(query)) {
            page.next = page.holds.back().number;
            break;
        }
        page.add(std::move(*hold));
    }
    TRY(auto oldest, database.prepare("SELECT ended_ns FROM history ORDER BY number LIMIT 1"));
    TRY(const bool has_oldest, oldest.step());
    if (has_oldest) page.kept_since = from_ns(oldest.number(0));
    return page;
}

}  // namespace holdfast::store
