#include "store/tables/schema.h"

#include <array>
#include <string>

#include "store/data_file.h"

namespace holdfast::store {

namespace {

constexpr const char* leases_step = R"sql(
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
)sql";

constexpr const char* fences_step = R"sql(
CREATE TABLE fences (resource PRIMARY KEY, highest_token INTEGER NOT NULL) WITHOUT ROWID;
)sql";

constexpr const char* journal_step = R"sql(
CREATE TABLE journal (
    number INTEGER PRIMARY KEY,
    start_number INTEGER NOT NULL,
    last_token INTEGER NOT NULL,
    written_us INTEGER NOT NULL,
    changes TEXT NOT NULL
);
CREATE VIEW journal_leases AS
SELECT fencing_token,
       lease IS NULL AS has_ended,
       json_extract(lease, '$[1]') AS lease_id,
       json_extract(lease, '$[2]') AS lock_name,
       json_extract(lease, '$[3]') AS owner_id,
       (written_us - json_extract(lease, '$[4]')) * 1000 AS acquired_ns,
       json_extract(lease, '$[5]') AS ttl_us,
       json_extract(lease, '$[6]') AS door,
       json_extract(lease, '$[7]') AS version,
       coalesce(json_extract(lease, '$[8]'), 0) AS memory_us,
       coalesce(json_extract(lease, '$[9]'), 0) AS grace_us,
       coalesce(json_extract(lease, '$[10]'), '') AS request_id,
       coalesce(json_extract(lease, '$[11]'), '') AS metadata,
       coalesce(json_extract(lease, '$[12]'), 'named') AS kind,
       coalesce(json_extract(lease, '$[13]'), 'exclusive') AS mode,
       coalesce(json_extract(lease, '$[14]'), 1) AS permits,
       (written_us - json_extract(lease, '$[4]') + json_extract(lease, '$[5]')
           + coalesce(json_extract(lease, '$[15]'), 0)) * 1000 AS lease_expiry_ns,
       coalesce(json_extract(lease, '$[16]'), 'held') AS state,
       coalesce(json_extract(lease, '$[17]'), 0) AS inode,
       coalesce(json_extract(lease, '$[18]'), 0) AS range_start,
       coalesce(json_extract(lease, '$[19]'), -1) AS range_end,
       start_number
FROM (SELECT last_token - iif(type = 'array', json_extract(value, '$[0]'), value)
                 AS fencing_token,
             iif(type = 'array', value, NULL) AS lease,
             start_number,
             written_us,
             max(number)
      FROM journal, json_each(changes)
      GROUP BY fencing_token);
DROP VIEW lock_state;
CREATE VIEW lock_state AS
SELECT iif(typeof(lock_name) = 'blob', 'x''' || lower(hex(lock_name)) || '''', lock_name)
           AS lock_name,
       iif(typeof(owner_id) = 'blob', 'x''' || lower(hex(owner_id)) || '''', owner_id) AS owner_id,
       lease_id, fencing_token, lease_expiry_ns, version, kind, mode, state, inode, range_start,
       range_end, permits
FROM locks
WHERE fencing_token NOT IN (SELECT fencing_token FROM journal_leases)
UNION ALL
SELECT lock_name, owner_id, lease_id, fencing_token, lease_expiry_ns, version, kind, mode, state,
       inode, range_start, range_end, permits
FROM journal_leases
WHERE NOT has_ended;
)sql";

constexpr const char* journal_file_step = R"sql(
CREATE TABLE journal_file (
    id INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    is_open INTEGER NOT NULL
);
INSERT INTO journal_file VALUES (random(), 1, 0);
)sql";

// `journal_leases` is about the journals of older versions, which had none of this: old_rows.cc.
constexpr const char* sets_and_values_step = R"sql(
ALTER TABLE locks ADD COLUMN members NOT NULL DEFAULT '';
ALTER TABLE locks ADD COLUMN value NOT NULL DEFAULT '';
ALTER TABLE locks ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE locks ADD COLUMN waiter NOT NULL DEFAULT '';
DROP VIEW lock_state;
CREATE VIEW lock_state AS
SELECT iif(typeof(lock_name) = 'blob', 'x''' || lower(hex(lock_name)) || '''', lock_name)
           AS lock_name,
       iif(typeof(owner_id) = 'blob', 'x''' || lower(hex(owner_id)) || '''', owner_id) AS owner_id,
       lease_id, fencing_token, lease_expiry_ns, version, kind, mode, state, inode, range_start,
       range_end, permits,
       iif(typeof(members) = 'blob', 'x''' || lower(hex(members)) || '''', members) AS members,
       iif(typeof(value) = 'blob', 'x''' || lower(hex(value)) || '''', value) AS value, revision
FROM locks
WHERE fencing_token NOT IN (SELECT fencing_token FROM journal_leases)
UNION ALL
SELECT lock_name, owner_id, lease_id, fencing_token, lease_expiry_ns, version, kind, mode, state,
       inode, range_start, range_end, permits, '', '', 0
FROM journal_leases
WHERE NOT has_ended;
)sql";

// `members` is for leases on several scopes.
constexpr const char* history_step = R"sql(
CREATE TABLE history (
    number INTEGER PRIMARY KEY,
    fencing_token INTEGER NOT NULL,
    lock_name NOT NULL,
    owner_id NOT NULL,
    door INTEGER NOT NULL,
    kind TEXT NOT NULL,
    mode TEXT NOT NULL,
    inode INTEGER NOT NULL,
    range_start INTEGER NOT NULL,
    range_end INTEGER NOT NULL,
    metadata NOT NULL,
    waited_us INTEGER NOT NULL,
    acquired_ns INTEGER NOT NULL,
    ended_ns INTEGER NOT NULL,
    ended TEXT NOT NULL,
    members TEXT NOT NULL DEFAULT ''
);
CREATE TABLE waits (fencing_token INTEGER PRIMARY KEY, waited_us INTEGER NOT NULL);
)sql";

constexpr const char* by_whom_step = R"sql(
ALTER TABLE locks ADD COLUMN granted_by NOT NULL DEFAULT '';
ALTER TABLE history ADD COLUMN granted_by NOT NULL DEFAULT '';
ALTER TABLE history ADD COLUMN ended_by NOT NULL DEFAULT '';
)sql";

// Step n brings a file of version n to version n + 1. Steps are never changed, only added.
constexpr std::array migrations{leases_step,          fences_step,  journal_step, journal_file_step,
                                sets_and_values_step, history_step, by_whom_step};

SqliteResult<void> run_step(Database& database, std::size_t version) {
    const std::string step = std::string(migrations.at(version)) +
                             "PRAGMA application_id=" + std::to_string(application_id) +
                             ";PRAGMA user_version=" + std::to_string(version + 1);
    TRY(auto transaction, Transaction::begin(database));
    TRY(database.run(step.c_str()));
    return transaction.commit();
}

}  // namespace

std::uint32_t schema_version() {
    return static_cast<std::uint32_t>(migrations.size());
}

SqliteResult<void> prepare_schema(Database& database, std::uint32_t version) {
    TRY(const auto present, database.number("PRAGMA user_version"));
    if (present < 0 || present > version) {
        return tl::unexpected(SqliteError{.message = "it was written by a newer holdfast"});
    }
    if (present > 0) {
        const auto verdict = database.text("PRAGMA quick_check(1)");
        if (!verdict) return tl::unexpected(verdict.error());
        if (verdict->compare("ok") != 0) {
            return tl::unexpected(SqliteError{.message = "it is damaged: " + *verdict});
        }
    }
    for (auto step = static_cast<std::size_t>(present); step < version; ++step) {
        TRY(run_step(database, step));
    }
    return {};
}

}  // namespace holdfast::store
