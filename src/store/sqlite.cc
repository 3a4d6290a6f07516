#include "store/sqlite.h"

#include <sqlite3.h>

#include <cstring>
#include <utility>

#include "base/text/utf8.h"

namespace holdfast::store {

namespace {

SqliteError error_of(sqlite3* handle) {
    if (handle == nullptr) return {.message = "out of memory"};
    const int code = sqlite3_errcode(handle) & 0xff;
    std::string message = sqlite3_errmsg(handle);
    const int system_code = sqlite3_system_errno(handle);
    if ((code == SQLITE_IOERR || code == SQLITE_CANTOPEN) && system_code != 0) {
        message.append(" (").append(std::strerror(system_code)).append(")");
    }
    return {.is_busy = code == SQLITE_BUSY || code == SQLITE_LOCKED, .message = std::move(message)};
}

}  // namespace

bool is_plain_text(std::string_view bytes) {
    return base::is_utf8(bytes) && bytes.find('\0') == std::string_view::npos;
}

SqliteResult<Database> Database::open(const std::string& path) {
    sqlite3* handle = nullptr;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
    Database database(handle);
    if (code != SQLITE_OK) return tl::unexpected(error_of(handle));
    return database;
}

void Database::Closer::operator()(sqlite3* handle) const {
    sqlite3_close_v2(handle);
}

SqliteResult<void> Database::run(const char* sql) {
    if (sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
        return tl::unexpected(error_of(handle_.get()));
    }
    return {};
}

SqliteResult<Statement> Database::prepare(const char* sql) {
    sqlite3_stmt* handle = nullptr;
    if (sqlite3_prepare_v3(handle_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &handle, nullptr) !=
        SQLITE_OK) {
        return tl::unexpected(error_of(handle_.get()));
    }
    return Statement(handle);
}

void Database::set_busy_timeout(std::chrono::milliseconds timeout) {
    sqlite3_busy_timeout(handle_.get(), static_cast<int>(timeout.count()));
}

SqliteResult<void> Database::run_often(const char* literal) {
    auto found = often_.find(literal);
    if (found == often_.end()) {
        TRY(auto statement, prepare(literal));
        found = often_.emplace(literal, std::move(statement)).first;
    }
    return found->second.run();
}

SqliteResult<std::int64_t> Database::number(const char* sql) {
    TRY(auto statement, prepare(sql));
    TRY(const bool has_row, statement.step());
    if (!has_row) return tl::unexpected(SqliteError{.message = "no answer to " + std::string(sql)});
    return statement.number(0);
}

SqliteResult<std::string> Database::text(const char* sql) {
    TRY(auto statement, prepare(sql));
    TRY(const bool has_row, statement.step());
    if (!has_row) return tl::unexpected(SqliteError{.message = "no answer to " + std::string(sql)});
    return std::string(statement.bytes(0));
}

void Statement::Closer::operator()(sqlite3_stmt* handle) const {
    sqlite3_finalize(handle);
}

void Statement::bind(int place, std::int64_t number) {
    sqlite3_bind_int64(handle_.get(), place, number);
}

void Statement::bind(int place, std::string_view bytes) {
    if (is_plain_text(bytes)) return bind_text(place, bytes);
    sqlite3_bind_blob64(handle_.get(), place, bytes.data(), bytes.size(), SQLITE_STATIC);
}

void Statement::bind_text(int place, std::string_view text) {
    // An empty view may have no data, and SQLite would take that for NULL.
    const char* data = text.empty() ? "" : text.data();
    sqlite3_bind_text64(handle_.get(), place, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

void Statement::bind_copy(int place, std::string_view text) {
    sqlite3_bind_text64(handle_.get(), place, text.data(), text.size(), SQLITE_TRANSIENT,
                        SQLITE_UTF8);
}

SqliteResult<bool> Statement::step() {
    const int code = sqlite3_step(handle_.get());
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return tl::unexpected(error_of(sqlite3_db_handle(handle_.get())));
}

SqliteResult<void> Statement::run() {
    auto stepped = step();
    sqlite3_reset(handle_.get());
    if (!stepped) return tl::unexpected(std::move(stepped).error());
    return {};
}

void Statement::reset() {
    sqlite3_reset(handle_.get());
}

bool Statement::is_integer(int column) const {
    return sqlite3_column_type(handle_.get(), column) == SQLITE_INTEGER;
}

bool Statement::is_text_or_blob(int column) const {
    const int type = sqlite3_column_type(handle_.get(), column);
    return type == SQLITE_TEXT || type == SQLITE_BLOB;
}

std::int64_t Statement::number(int column) const {
    return sqlite3_column_int64(handle_.get(), column);
}

std::string_view Statement::bytes(int column) const {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(handle_.get(), column));
    const int size = sqlite3_column_bytes(handle_.get(), column);
    if (data == nullptr) return {};
    return {data, static_cast<std::size_t>(size)};
}

SqliteResult<Transaction> Transaction::begin(Database& database) {
    TRY(database.run_often("BEGIN IMMEDIATE"));
    return Transaction(database);
}

Transaction::~Transaction() {
    // After some failures SQLite has undone everything by itself already.
    if (database_ != nullptr && sqlite3_get_autocommit(database_->handle_.get()) == 0) {
        static_cast<void>(database_->run("ROLLBACK"));
    }
}

SqliteResult<void> Transaction::commit() {
    auto done = database_->run_often("COMMIT");
    if (!done) {
        done.error().may_be_committed = !done.error().is_busy;
    } else {
        database_.reset();
    }
    return done;
}

}  // namespace holdfast::store
