#include "store/tables/fence_table.h"

#include <string>
#include <utility>

#include "core/values/ids.h"

namespace holdfast::store {

FenceTable::FenceTable(Statement put, Statement drop)
    : put_(std::move(put)), drop_(std::move(drop)) {}

SqliteResult<FenceTable> FenceTable::prepare(Database& database) {
    TRY(auto put,
        database.prepare("INSERT OR REPLACE INTO fences (resource, highest_token) VALUES (?, ?)"));
    TRY(auto drop, database.prepare("DELETE FROM fences WHERE resource = ?"));
    return FenceTable(std::move(put), std::move(drop));
}

SqliteResult<void> FenceTable::write(const std::vector<service::FenceMark>& marks) {
    for (const service::FenceMark& mark : marks) {
        Statement& statement = mark.highest == 0 ? drop_ : put_;
        statement.bind(1, mark.resource);
        if (mark.highest != 0) statement.bind(2, static_cast<std::int64_t>(mark.highest));
        TRY(statement.run());
    }
    return {};
}

SqliteResult<std::vector<service::FenceMark>> FenceTable::read(Database& database) {
    TRY(auto select, database.prepare("SELECT resource, highest_token FROM fences"));
    std::vector<service::FenceMark> marks;
    for (;;) {
        TRY(const bool has_row, select.step());
        if (!has_row) return marks;
        const bool has_types = select.is_text_or_blob(0) && select.is_integer(1);
        const std::int64_t highest = select.number(1);
        if (!has_types || highest <= 0 ||
            highest > static_cast<std::int64_t>(core::as_number(core::fence_max))) {
            return tl::unexpected(SqliteError{.message = "the fence with token " +
                                                         std::string(select.bytes(1)) +
                                                         " in it makes no sense"});
        }
        marks.push_back({.resource = std::string(select.bytes(0)),
                         .highest = static_cast<std::uint64_t>(highest)});
    }
}

}  // namespace holdfast::store
