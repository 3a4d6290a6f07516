#pragma once

// A lease as it is written down: in the journal as one JSON object, in the lock table as one row.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/changes.h"
#include "service/clock.h"
#include "store/sqlite.h"

namespace holdfast::store {

// Everything a restarted server must know of a lease.
struct LeaseRow {
    std::uint64_t fence = 0;
    std::uint64_t secret = 0;
    core::ScopeKind kind = core::ScopeKind::named;
    std::string name;
    std::uint64_t inode = 0;
    core::Range range;
    std::string owner;
    core::Door door{};
    core::Mode mode = core::Mode::exclusive;
    std::uint32_t permits = 1;
    core::LeaseState state = core::LeaseState::held;
    core::Duration ttl{0};
    core::Duration grace{0};
    core::Duration memory{0};
    std::uint64_t version = 0;
    service::WallTime acquired_at;
    service::WallTime expires_at;
    std::int64_t start_number = 0;  // which run of the server wrote this

    bool operator==(const LeaseRow&) const = default;
};

// The row of the lease in `event`, as it is after it.
[[nodiscard]] LeaseRow to_row(const core::Event& event, const service::Clock& clock,
                              std::int64_t start_number);

// The journal's form of a row, and of the end of a lease.
void append_entry(std::string& out, const LeaseRow& row);
void append_end(std::string& out, std::uint64_t fence);

// The lock table's form: places 1.. of an INSERT with `row_columns` in their order, and the same
// read back from column 0 on; nothing for a row that nobody here can have written. `row` must live
// until the statement has run.
extern const std::string_view row_columns;
void bind_row(Statement& statement, const LeaseRow& row);
[[nodiscard]] std::optional<LeaseRow> read_row(const Statement& statement);

// What turns an entry of the journal (the column `fields` of last_entries) into `row_columns`.
extern const std::string_view entry_columns;

}  // namespace holdfast::store
