#pragma once

// A lease as it is written down: one row of the lock table.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/changes.h"
#include "core/request.h"
#include "service/clock.h"
#include "store/sqlite.h"
#include "store/starts.h"

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
    std::string request_id;
    std::string metadata;
    std::int64_t start_number = 0;  // which run of the server wrote this

    bool operator==(const LeaseRow&) const = default;
};

// The row of the lease in `event`, as it is after it.
[[nodiscard]] LeaseRow to_row(const core::Event& event, const service::Clock& clock,
                              std::int64_t start_number);

// The lease of a row, as a server finds it again that has these ages. Its texts are the row's.
[[nodiscard]] core::RestoreRequest to_request(const LeaseRow& row, const LeaseAges& ages,
                                              const service::Clock& clock);

// The columns of a row, and the statement that writes one over what is there of that number.
extern const std::string_view row_columns;
[[nodiscard]] SqliteResult<Statement> prepare_put(Database& database);

// Places the values of a row into a statement of prepare_put(); the row must live until that has
// run. And the same read back from `row_columns`, the first of them in column 0; nothing for a row
// that nobody here can have written.
void bind_row(Statement& statement, const LeaseRow& row);
[[nodiscard]] std::optional<LeaseRow> read_row(const Statement& statement);

}  // namespace holdfast::store
