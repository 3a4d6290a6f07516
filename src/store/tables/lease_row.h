#pragma once

// A lease as it is written down: one row of the lock table.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/values/changes.h"
#include "core/values/request.h"
#include "service/ports/clock.h"
#include "store/sqlite.h"
#include "store/tables/starts.h"

namespace holdfast::store {

// Everything a restarted server must know of a lease.
template <class Text>
struct BasicLeaseRow {
    std::uint64_t fence = 0;
    std::uint64_t secret = 0;
    core::ScopeKind kind = core::ScopeKind::named;
    Text name;
    std::uint64_t inode = 0;
    core::Range range;
    Text owner;
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
    Text request_id;
    Text metadata;
    std::int64_t start_number = 0;  // which run of the server wrote this

    bool operator==(const BasicLeaseRow&) const = default;
};
using LeaseRow = BasicLeaseRow<std::string>;
using LeaseRowView = BasicLeaseRow<std::string_view>;  // its texts are somebody else's

// `held`, `grace`.
[[nodiscard]] std::string_view to_text(core::LeaseState state);

// The row of the lease in `event`, as it is after it; of either type. `epoch` is what the wall
// clock showed at the engine's time zero.
template <class Row>
[[nodiscard]] Row to_row(const core::Event& event, service::WallTime epoch,
                         std::int64_t start_number);
extern template LeaseRow to_row(const core::Event&, service::WallTime, std::int64_t);
extern template LeaseRowView to_row(const core::Event&, service::WallTime, std::int64_t);

// The lease of a row, as a server finds it again that has these ages. Its texts are the row's.
[[nodiscard]] core::RestoreRequest to_request(const LeaseRow& row, const LeaseAges& ages,
                                              const service::Clock& clock);

// The columns of a row, and the statement that writes one over what is there of that number.
extern const std::string_view row_columns;
[[nodiscard]] SqliteResult<Statement> prepare_put(Database& database);

// Places the values of a row into a statement of prepare_put(); its texts must live until that has
// run. And the same read back from `row_columns`, the first of them in column 0; nothing for a row
// that nobody here can have written.
void bind_row(Statement& statement, const LeaseRowView& row);
[[nodiscard]] std::optional<LeaseRow> read_row(const Statement& statement);

}  // namespace holdfast::store
