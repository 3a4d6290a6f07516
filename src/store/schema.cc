#include "store/schema.h"

#include <string>
#include <vector>

#include "store/data_file.h"

namespace holdfast::store {

namespace {

// Step n brings a file of version n to version n + 1. Steps are never changed, only added.
const std::vector<std::string>& migrations() {
    static const std::vector<std::string> steps{R"sql(
CREATE TABLE locks (
    fencing_token INTEGER PRIMARY KEY,
    lease_secret TEXT NOT NULL,
    kind TEXT NOT NULL,
    lock_name NOT NULL,
    inode INTEGER NOT NULL,
    range_start INTEGER NOT NULL,
    range_end INTEGER NOT NULL,
    owner_id NOT NULL,
    door INTEGER NOT NULL,
    mode TEXT NOT NULL,
    permits INTEGER NOT NULL,
    state TEXT NOT NULL,
    ttl_us INTEGER NOT NULL,
    grace_us INTEGER NOT NULL,
    memory_us INTEGER NOT NULL,
    version INTEGER NOT NULL,
    acquired_ns INTEGER NOT NULL,
    lease_expiry_ns INTEGER NOT NULL,
    start_number INTEGER NOT NULL
);
CREATE TABLE tokens (lock_name TEXT PRIMARY KEY, last_token INTEGER NOT NULL);
INSERT INTO tokens VALUES ('*', 0);
CREATE TABLE journal (
    number INTEGER PRIMARY KEY,
    last_token INTEGER NOT NULL,
    entries TEXT NOT NULL
);
CREATE TABLE starts (
    number INTEGER PRIMARY KEY,
    boot TEXT NOT NULL,
    since_boot_us INTEGER NOT NULL
);
-- What the journal says of each lease in the end; an entry without a kind ('k') is its end.
CREATE VIEW last_entries AS
SELECT item.value->>'f' AS fencing_token, item.value AS fields, max(journal.number) AS commit_number
FROM journal, json_each(journal.entries) AS item GROUP BY 1;
CREATE VIEW lock_state AS
SELECT iif(typeof(lock_name) = 'blob', 'x''' || lower(hex(lock_name)) || '''', lock_name)
           AS lock_name,
       kind,
       iif(typeof(owner_id) = 'blob', 'x''' || lower(hex(owner_id)) || '''', owner_id) AS owner_id,
       lease_secret AS lease_id, fencing_token, lease_expiry_ns, version, mode, state, inode,
       range_start, range_end, permits
FROM locks WHERE fencing_token NOT IN (SELECT fencing_token FROM last_entries)
UNION ALL
SELECT coalesce(fields->>'n', 'x''' || (fields->>'nx') || ''''), fields->>'k',
       coalesce(fields->>'o', 'x''' || (fields->>'ox') || ''''), fields->>'s', fencing_token,
       fields->>'x', fields->>'v', fields->>'m', fields->>'st', fields->>'i', fields->>'a',
       fields->>'b', fields->>'l'
FROM last_entries WHERE fields->>'k' IS NOT NULL;
)sql"};
    return steps;
}

SqliteResult<void> migrate(Database& database, std::size_t version) {
    for (; version < migrations().size(); ++version) {
        const std::string step = migrations()[version] +
                                 "PRAGMA application_id=" + std::to_string(application_id) +
                                 ";PRAGMA user_version=" + std::to_string(version + 1);
        TRY(auto transaction, Transaction::begin(database));
        if (auto done = database.run(step.c_str()); !done) return done;
        if (auto done = transaction.commit(); !done) return done;
    }
    return {};
}

}  // namespace

std::uint32_t schema_version() {
    return static_cast<std::uint32_t>(migrations().size());
}

SqliteResult<void> prepare_schema(Database& database) {
    TRY(const auto version, database.number("PRAGMA user_version"));
    if (version < 0 || version > schema_version()) {
        return tl::unexpected(SqliteError{.message = "it was written by a newer holdfast"});
    }
    if (version > 0) {
        const auto verdict = database.text("PRAGMA quick_check(1)");
        if (!verdict) return tl::unexpected(verdict.error());
        if (verdict->compare("ok") != 0) {
            return tl::unexpected(SqliteError{.message = "it is damaged: " + *verdict});
        }
    }
    return migrate(database, static_cast<std::size_t>(version));
}

}  // namespace holdfast::store
