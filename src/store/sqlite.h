#pragma once

// A thin interface to SQLite that owns its handles and does not throw: a connection, its prepared
// statements, and transactions.
//
// Thread safety: one thread at a time; the connection is opened without SQLite's own mutexes.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace holdfast::store {

// Why a statement failed. `is_busy`: another program has the file locked at the moment.
struct SqliteError {
    bool is_busy = false;
    std::string message;
    bool may_be_committed = false;  // COMMIT failed; after any other error nothing is written
};

template <class T>
using SqliteResult = tl::expected<T, SqliteError>;

// Whether SQLite can store `bytes` as TEXT: well-formed UTF-8 without NUL, where its tools would
// stop.
[[nodiscard]] bool is_plain_text(std::string_view bytes);

// A prepared statement. The database must outlive it. Bound texts must live until it has run.
class Statement {
  public:
    void bind(int place, std::int64_t number);
    // As a text; as a blob, if the bytes are not plain text.
    void bind(int place, std::string_view bytes);
    void bind_text(int place, std::string_view text);  // REQUIRES: plain text
    void bind_copy(int place, std::string_view text);  // the same, with a copy of the text

    // Goes to the next row. False: there is none.
    [[nodiscard]] SqliteResult<bool> step();
    // Runs a statement that returns no rows, and makes it ready for the next values.
    [[nodiscard]] SqliteResult<void> run();
    // Ends a statement that returns rows, and makes it ready to run again.
    void reset();

    // The type of the value in the file. number() and bytes() convert a value of any type.
    // REQUIRES: called before number() and bytes() of the same column.
    [[nodiscard]] bool is_integer(int column) const;
    [[nodiscard]] bool is_text_or_blob(int column) const;
    [[nodiscard]] std::int64_t number(int column) const;
    [[nodiscard]] std::string_view bytes(int column) const;  // text or blob; until the next step

  private:
    friend class Database;
    struct Closer {
        void operator()(sqlite3_stmt* handle) const;
    };
    explicit Statement(sqlite3_stmt* handle) : handle_(handle) {}

    std::unique_ptr<sqlite3_stmt, Closer> handle_;
};

// One open database file.
class Database {
  public:
    [[nodiscard]] static SqliteResult<Database> open(const std::string& path);

    // Runs one or more statements that return nothing of interest.
    [[nodiscard]] SqliteResult<void> run(const char* sql);
    // The same for one statement that is run again and again: it is prepared once. REQUIRES: the text
    // is a literal, because its address is the key.
    [[nodiscard]] SqliteResult<void> run_often(const char* literal);
    [[nodiscard]] SqliteResult<Statement> prepare(const char* sql);
    void set_busy_timeout(std::chrono::milliseconds timeout);
    // The first column of the first row, as a number or a text. Fails if there is no row.
    [[nodiscard]] SqliteResult<std::int64_t> number(const char* sql);
    [[nodiscard]] SqliteResult<std::string> text(const char* sql);

  private:
    friend class Transaction;
    struct Closer {
        void operator()(sqlite3* handle) const;
    };
    explicit Database(sqlite3* handle) : handle_(handle) {}

    std::unique_ptr<sqlite3, Closer> handle_;
    std::map<const char*, Statement> often_;  // by their text
};

// All or nothing: the destructor undoes what was not committed.
class Transaction {
  public:
    // Waits for another writer, as long as the busy timeout says.
    [[nodiscard]] static SqliteResult<Transaction> begin(Database& database);

    Transaction(Transaction&& other) noexcept = default;
    Transaction& operator=(Transaction&&) = delete;
    ~Transaction();

    [[nodiscard]] SqliteResult<void> commit();

  private:
    struct Disarm {
        void operator()(Database* /*not ours*/) const {}
    };
    explicit Transaction(Database& database) : database_(&database) {}

    std::unique_ptr<Database, Disarm> database_;  // none: committed, or moved from
};

}  // namespace holdfast::store
