// How a LeaseFile finds its leases again.

#include <algorithm>
#include <utility>

#include "store/lease_file.h"

namespace holdfast::store {

SqliteResult<service::Recovered> LeaseFile::recover(const BootClock& now, const OnLease& on_lease) {
    start_number_ = 0;
    auto recovered = recover_all(now, on_lease);
    if (!recovered) tables_.journal.forget();
    return recovered;
}

// In one transaction, so that a file that makes no sense stays as it is.
SqliteResult<service::Recovered> LeaseFile::recover_all(const BootClock& now,
                                                        const OnLease& on_lease) {
    database_.set_busy_timeout(has_recovered_ ? busy_timeout_.zero() : busy_timeout_);
    const core::Time began = clock_->now();
    TRY(auto transaction, Transaction::begin(database_));
    TRY(const auto starts, note_start(now));
    const std::int64_t present = starts.back().number;
    TRY(tables_.journal.restart(database_, present));
    TRY(auto recovered, visit(LeaseAges(starts), on_lease));
    TRY(recovered.fences, FenceTable::read(database_));
    if (const std::int64_t needed = std::min(present, oldest_start_);
        starts.front().number < needed) {
        TRY(auto forget, database_.prepare("DELETE FROM starts WHERE number < ?"));
        forget.bind(1, needed);
        TRY(forget.run());
    }
    // The leases begin their time when they have all been read.
    TRY(auto note_end, database_.prepare("UPDATE starts SET since_boot_us = ? WHERE number = ?"));
    note_end.bind(1, (now.since_boot + (clock_->now() - began)).count());
    note_end.bind(2, present);
    TRY(note_end.run());
    TRY(transaction.commit());
    start_number_ = present;
    has_recovered_ = true;
    database_.set_busy_timeout(busy_timeout_);
    return recovered;
}

SqliteResult<std::vector<Start>> LeaseFile::note_start(const BootClock& now) {
    TRY(auto insert, database_.prepare("INSERT INTO starts (boot, since_boot_us) VALUES (?, ?)"));
    insert.bind(1, now.boot);
    insert.bind(2, now.since_boot.count());
    TRY(insert.run());
    TRY(auto select,
        database_.prepare("SELECT number, boot, since_boot_us FROM starts ORDER BY number"));
    std::vector<Start> starts;
    for (;;) {
        TRY(const bool has_row, select.step());
        if (!has_row) return starts;
        starts.push_back({.number = select.number(0),
                          .at = {.boot = std::string(select.bytes(1)),
                                 .since_boot = core::Duration{select.number(2)}}});
    }
}

SqliteResult<service::Recovered> LeaseFile::visit(const LeaseAges& ages, const OnLease& on_lease) {
    TRY(const auto last_token, database_.number("SELECT max(last_token) FROM tokens"));
    service::Recovered recovered{.next_fence = static_cast<std::uint64_t>(last_token) + 1};
    const std::string sql =
        "SELECT " + std::string(row_columns) + " FROM locks ORDER BY fencing_token";
    TRY(auto select, database_.prepare(sql.c_str()));
    oldest_start_ = INT64_MAX;
    for (;;) {
        TRY(const bool has_row, select.step());
        if (!has_row) return recovered;
        const auto row = read_row(select);
        if (!row || !on_lease(to_request(*row, ages, *clock_))) {
            return tl::unexpected(SqliteError{.message = "the lease with fencing number " +
                                                         std::to_string(select.number(0)) +
                                                         " in it makes no sense"});
        }
        oldest_start_ = std::min(oldest_start_, row->start_number);
        recovered.next_fence = std::max(recovered.next_fence, row->fence + 1);
        ++recovered.leases;
    }
}

}  // namespace holdfast::store
