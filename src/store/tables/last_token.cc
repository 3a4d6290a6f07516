#include "store/tables/last_token.h"

#include <algorithm>
#include <string>

#include "core/values/ids.h"

namespace holdfast::store {

SqliteResult<std::uint64_t> read_last_token(Database& database) {
    TRY(auto select, database.prepare("SELECT last_token, 1 FROM tokens "
                                      "UNION ALL SELECT last_token, 0 FROM journal"));
    std::uint64_t last_token = 0;
    bool is_kept = false;
    for (;;) {
        TRY(const bool has_row, select.step());
        if (!has_row) break;
        const bool is_integer = select.is_integer(0);
        const std::int64_t number = select.number(0);
        const auto token = static_cast<std::uint64_t>(number);
        if (!is_integer || number < 0 || token > core::as_number(core::fence_max)) {
            return tl::unexpected(SqliteError{.message = "the last fencing number in it, " +
                                                         std::string(select.bytes(0)) +
                                                         ", makes no sense"});
        }
        last_token = std::max(last_token, token);
        is_kept = is_kept || select.number(1) == 1;
    }
    if (!is_kept) {
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

}  // namespace holdfast::store
