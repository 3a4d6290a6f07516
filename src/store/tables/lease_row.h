#pragma once

// A lease as a store writes it: one row of the table `locks`.
//
// The columns of the row are listed once, in lease_row.cc (visit_columns). SELECT, INSERT, binding,
// reading and the check of the journal all follow that list.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/changes.h"
#include "core/values/request.h"
#include "service/ports/clock.h"
#include "store/sqlite.h"
#include "store/tables/starts.h"

namespace holdfast::store {

// The TTL in the row of a lease without an end. Such a row expires when it was acquired: sums of its
// columns stay in range.
inline constexpr core::Duration no_end{0};

// Everything that a restarted server must know of a lease.
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
    std::int64_t start_number = 0;  // of the run of the server that wrote the row
    Text members;                   // core::set_to_text(); empty: the lease has only its scope
    Text value;
    std::uint64_t revision = 0;
    Text waiter;
    Text granted_by;  // core::Event::by of the grant; only if there is a history or a request id

    bool operator==(const BasicLeaseRow&) const = default;
};
using LeaseRow = BasicLeaseRow<std::string>;
using LeaseRowView = BasicLeaseRow<std::string_view>;  // does not own its texts

// `held`, `grace`.
[[nodiscard]] std::string_view to_text(core::LeaseState state);

// The row of the lease in `event`, as the lease is after the event, without `granted_by`. `epoch` is
// what the wall clock showed at the engine's time zero.
template <class Row>
[[nodiscard]] Row to_row(const core::Event& event, service::WallTime epoch,
                         std::int64_t start_number);
extern template LeaseRow to_row(const core::Event&, service::WallTime, std::int64_t);
extern template LeaseRowView to_row(const core::Event&, service::WallTime, std::int64_t);

// The lease of a row, for a server that is started now. The texts of the result are those of the
// row. `members` is its set: core::parse_set(row.members).
[[nodiscard]] core::RestoreRequest to_request(const LeaseRow& row,
                                              std::span<const core::SetMember> members,
                                              const LeaseAges& ages, const service::Clock& clock);

// A column of `locks`, and the SQLite type that its values have in the journal.
struct LeaseColumn {
    std::string_view name;
    std::string_view type;
};

// All columns, and their names joined by commas.
[[nodiscard]] const std::vector<LeaseColumn>& lease_columns();
[[nodiscard]] const std::string& lease_column_names();

// The statement that writes a row. A row with the same fencing number gets the new values, but keeps
// its `granted_by`.
[[nodiscard]] SqliteResult<Statement> prepare_put(Database& database);

// Binds the values of a row to a statement of prepare_put(). The texts of the row must live until
// the statement has run.
void bind_row(Statement& statement, const LeaseRowView& row);

// Reads the row from a SELECT of lease_column_names(). No value for a row that no server can have
// written.
[[nodiscard]] std::optional<LeaseRow> read_row(const Statement& statement);

}  // namespace holdfast::store
