#include "store/journal/journal_fold.h"

#include <string>

#include "store/tables/last_token.h"
#include "store/tables/lease_row.h"

namespace holdfast::store {

namespace {

// The leases with values of other types than they are written with.
constexpr const char* of_other_types = R"sql(
SELECT fencing_token FROM journal_leases
WHERE typeof(fencing_token) <> 'integer'
   OR NOT has_ended AND (
       (typeof(lease_id), typeof(lock_name), typeof(owner_id), typeof(request_id),
        typeof(metadata), typeof(kind), typeof(mode), typeof(state))
           <> ('text', 'text', 'text', 'text', 'text', 'text', 'text', 'text')
       OR (typeof(acquired_ns), typeof(lease_expiry_ns), typeof(ttl_us), typeof(grace_us),
           typeof(memory_us), typeof(door), typeof(version), typeof(permits), typeof(inode),
           typeof(range_start), typeof(range_end))
           <> ('integer', 'integer', 'integer', 'integer', 'integer', 'integer', 'integer',
               'integer', 'integer', 'integer', 'integer'))
)sql";

// Fails when `sql` finds something: the number of a part of the journal.
SqliteResult<void> find_none(Database& database, const char* sql, const std::string& part) {
    TRY(auto select, database.prepare(sql));
    TRY(const bool is_found, select.step());
    if (!is_found) return {};
    return tl::unexpected(SqliteError{.message = part + std::to_string(select.number(0)) +
                                                 " in its journal makes no sense"});
}

SqliteResult<void> examine(Database& database) {
    // What is no JSON must not reach json_each(), which would fail with a word of its own.
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
    return find_none(database, of_other_types, "the lease with fencing number ");
}

}  // namespace

SqliteResult<void> fold_journal(Database& database) {
    TRY(const auto rows, database.number("SELECT EXISTS (SELECT 1 FROM journal)"));
    if (rows == 0) return {};
    TRY(examine(database));
    TRY(read_last_token(database));  // before the larger of its numbers hides one that is wrong
    const std::string columns(row_columns);
    const std::string put = "INSERT OR REPLACE INTO locks (" + columns + ") SELECT " + columns +
                            " FROM journal_leases WHERE NOT has_ended";
    TRY(database.run(put.c_str()));
    return database.run(
        "DELETE FROM locks WHERE fencing_token IN "
        "(SELECT fencing_token FROM journal_leases WHERE has_ended);"
        "UPDATE tokens SET last_token = "
        "max(last_token, (SELECT max(last_token) FROM journal));"
        "DELETE FROM journal;");
}

}  // namespace holdfast::store
