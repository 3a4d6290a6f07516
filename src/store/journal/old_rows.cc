#include "store/journal/old_rows.h"

#include <string>

#include "store/tables/fencing_numbers.h"
#include "store/tables/lease_row.h"

namespace holdfast::store {

namespace {

// The leases in the journal, with all columns of `locks`. The versions with such a journal did not
// have all of these columns: the others have their usual values.
constexpr const char* all_columns =
    "(SELECT *, '' AS members, '' AS value, 0 AS revision, '' AS waiter, '' AS granted_by "
    "FROM journal_leases)";

// A SELECT of the leases in the journal that have values of other types than a server writes.
std::string select_of_other_types() {
    std::string sql = std::string("SELECT fencing_token FROM ") + all_columns +
                      " WHERE typeof(fencing_token) <> 'integer' OR NOT has_ended AND (FALSE";
    for (const LeaseColumn& column : lease_columns()) {
        sql.append(" OR typeof(").append(column.name).append(") <> '").append(column.type) += '\'';
    }
    return sql += ')';
}

// Fails if `sql` finds something. `part` says what its number names.
// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): two callers, a few lines below
SqliteResult<void> find_none(Database& database, const std::string& sql, const std::string& part) {
    TRY(auto select, database.prepare(sql.c_str()));
    TRY(const bool is_found, select.step());
    if (!is_found) return {};
    return tl::unexpected(SqliteError{.message = part + std::to_string(select.number(0)) +
                                                 " in its journal makes no sense"});
}

SqliteResult<void> examine_journal(Database& database) {
    // Text that is not JSON must not reach json_each(), which would fail with a message of its own.
    TRY(find_none(database,
                  "SELECT number FROM journal WHERE typeof(start_number) <> 'integer' OR "
                  "typeof(last_token) <> 'integer' OR typeof(written_us) <> 'integer' OR CASE WHEN "
                  "json_valid(changes) THEN "
                  "json_type(changes) <> 'array' ELSE TRUE END",
                  "row "));
    TRY(find_none(database,
                  "SELECT number FROM journal, json_each(changes) "
                  "WHERE type NOT IN ('array', 'integer') OR type = 'array' AND "
                  "(json_type(value, '$[0]'), json_type(value, '$[4]'), json_type(value, '$[5]')) "
                  "IS NOT ('integer', 'integer', 'integer')",
                  "row "));
    return find_none(database, select_of_other_types(), "the lease with fencing number ");
}

}  // namespace

SqliteResult<void> fold_old_rows(Database& database) {
    TRY(const auto rows, database.number("SELECT EXISTS (SELECT 1 FROM journal)"));
    if (rows == 0) return {};
    TRY(examine_journal(database));
    TRY(read_last_token(database));  // a wrong number must not be hidden by a larger one
    const std::string& columns = lease_column_names();
    const std::string put = "INSERT OR REPLACE INTO locks (" + columns + ") SELECT " + columns +
                            " FROM " + all_columns + " WHERE NOT has_ended";
    TRY(database.run(put.c_str()));
    return database.run(
        "DELETE FROM locks WHERE fencing_token IN "
        "(SELECT fencing_token FROM journal_leases WHERE has_ended);"
        "UPDATE tokens SET last_token = "
        "max(last_token, (SELECT max(last_token) FROM journal));"
        "DELETE FROM journal;");
}

}  // namespace holdfast::store
