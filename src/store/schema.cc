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
    lock_name NOT NULL,
    owner_id NOT NULL,
    lease_id TEXT NOT NULL,
    fencing_token INTEGER PRIMARY KEY,
    lease_expiry_ns INTEGER NOT NULL,
    version INTEGER NOT NULL,
    kind TEXT NOT NULL,
    inode INTEGER NOT NULL,
    range_start INTEGER NOT NULL,
    range_end INTEGER NOT NULL,
    mode TEXT NOT NULL,
    permits INTEGER NOT NULL,
    state TEXT NOT NULL,
    door INTEGER NOT NULL,
    ttl_us INTEGER NOT NULL,
    grace_us INTEGER NOT NULL,
    memory_us INTEGER NOT NULL,
    acquired_ns INTEGER NOT NULL,
    request_id NOT NULL,
    metadata NOT NULL,
    start_number INTEGER NOT NULL
);
CREATE TABLE tokens (lock_name TEXT PRIMARY KEY, last_token INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO tokens VALUES ('*', 0);
CREATE TABLE starts (
    number INTEGER PRIMARY KEY,
    boot TEXT NOT NULL,
    since_boot_us INTEGER NOT NULL
);
CREATE VIEW lock_state AS
SELECT iif(typeof(lock_name) = 'blob', 'x''' || lower(hex(lock_name)) || '''', lock_name)
           AS lock_name,
       iif(typeof(owner_id) = 'blob', 'x''' || lower(hex(owner_id)) || '''', owner_id) AS owner_id,
       lease_id, fencing_token, lease_expiry_ns, version, kind, mode, state, inode, range_start,
       range_end, permits
FROM locks;
)sql",
                                                R"sql(
CREATE TABLE fences (resource PRIMARY KEY, highest_token INTEGER NOT NULL) WITHOUT ROWID;
)sql"};
    return steps;
}

SqliteResult<void> migrate(Database& database, std::size_t version) {
    for (; version < migrations().size(); ++version) {
        const std::string step = migrations()[version] +
                                 "PRAGMA application_id=" + std::to_string(application_id) +
                                 ";PRAGMA user_version=" + std::to_string(version + 1);
        TRY(auto transaction, Transaction::begin(database));
        TRY(database.run(step.c_str()));
        TRY(transaction.commit());
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
