#include "store/tables/fencing_numbers.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/values/ids.h"

namespace holdfast::store {

SqliteResult<std::uint64_t> read_last_token(Database& database) {
    TRY(auto select, database.prepare("SELECT last_token, 1 FROM tokens "
                                      "UNION ALL SELECT last_token, 0 FROM journal"));
    std::uint64_t last_token = 0;
    bool has_tokens = false;
    for (;;) {
        TRY(const bool is_found, select.step());
        if (!is_found) break;
        const bool is_integer = select.is_integer(0);
        const std::int64_t number = select.number(0);
        const auto token = static_cast<std::uint64_t>(number);
        if (!is_integer || number < 0 || token > core::as_number(core::fence_max)) {
            return tl::unexpected(SqliteError{.message = "the last fencing number in it, " +
                                                         std::string(select.bytes(0)) +
                                                         ", makes no sense"});
        }
        last_token = std::max(last_token, token);
        has_tokens = has_tokens || select.number(1) == 1;
    }
    if (!has_tokens) {
        return tl::unexpected(SqliteError{.message = "the last fencing number is missing in it"});
    }
    return last_token;
}

SqliteResult<void> check_not_used_up(std::uint64_t last_token) {
    if (last_token < core::as_number(core::fence_max)) return {};
    return tl::unexpected(
        SqliteError{.message = "the fencing number " + std::to_string(last_token) +
                               " in it makes no sense: none would be left above it"});
}

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
