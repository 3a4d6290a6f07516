#include "store/backup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "store/data_file.h"
#include "store/journal/fold.h"
#include "store/sqlite.h"
#include "store/tables/fencing_numbers.h"
#include "store/tables/schema.h"

namespace holdfast::store {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

bool exists(const std::string& path) {
    return ::access(path.c_str(), F_OK) == 0;
}

base::Result<void> make_durable(const std::string& path, int flags = O_RDONLY) {
    const base::Descriptor file(::open(path.c_str(), flags | O_CLOEXEC));
    if (!file || ::fsync(file.get()) != 0) {
        return base::fail("cannot make " + path + " durable: " + std::strerror(errno));
    }
    return {};
}

base::Result<void> make_folder_durable(const std::string& path) {
    const fs::path folder = fs::path(path).parent_path();
    return make_durable(folder.empty() ? "." : folder.string(), O_RDONLY | O_DIRECTORY);
}

// A file under a temporary name. The destructor removes it, unless rename_to() has succeeded.
class Staged {
  public:
    explicit Staged(std::string path) : path_(std::move(path)) { remove(); }
    Staged(const Staged&) = delete;
    Staged& operator=(const Staged&) = delete;
    ~Staged() {
        if (!path_.empty()) remove();
    }

    [[nodiscard]] const std::string& path() const { return path_; }

    // Replaces the file with this name.
    [[nodiscard]] base::Result<void> rename_to(const std::string& path) {
        if (::rename(path_.c_str(), path.c_str()) != 0) {
            return base::fail("cannot put " + path + " in its place: " + std::strerror(errno));
        }
        path_.clear();
        return make_folder_durable(path);
    }

  private:
    void remove() const {
        for (const char* end : {"", "-journal", "-wal", "-shm"}) ::unlink((path_ + end).c_str());
    }

    std::string path_;
};

// What must survive of a database that is replaced.
struct Numbers {
    std::uint64_t last_token = 0;
    std::vector<service::FenceMark> fences;
};

SqliteResult<Numbers> read_numbers(Database& database) {
    TRY(auto last_token, read_last_token(database));
    TRY(const auto last_lease,
        database.number("SELECT coalesce(max(fencing_token), 0) FROM locks"));
    last_token =
        std::max(last_token, static_cast<std::uint64_t>(std::max<std::int64_t>(last_lease, 0)));
    TRY(check_not_used_up(last_token));
    TRY(auto fences, FenceTable::read(database));
    return Numbers{.last_token = last_token, .fences = std::move(fences)};
}

SqliteResult<Database> open_and_check(const std::string& path) {
    TRY(auto database, Database::open(path));
    database.set_busy_timeout(5s);
    TRY(prepare_schema(database));
    return database;
}

// The numbers of the database that is to be replaced. Its journal is folded, and closing it writes its
// log into the file.
base::Result<Numbers> numbers_of(const std::string& path) {
    TRY(make_or_examine_file(path, schema_version()));
    const auto to_error = [](const SqliteError& error) { return base::Error{error.message}; };
    TRY(fold_file(path).map_error(to_error));
    TRY(auto database, open_and_check(path).map_error(to_error));
    return read_numbers(database).map_error(to_error);
}

// Makes a copy ready to serve: it gets the largest of all numbers.
SqliteResult<Restored> raise_numbers(const std::string& path, const Numbers& before,
                                     std::uint64_t token_floor) {
    TRY(auto database, open_and_check(path));
    TRY(auto transaction, Transaction::begin(database));
    // It is a database of its own from now on, and begins a journal of its own.
    TRY(database.run("UPDATE journal_file SET id = random(), is_open = 0"));
    TRY(fold_all(database, {}));
    TRY(auto numbers, read_numbers(database));
    numbers.last_token = std::max({numbers.last_token, before.last_token, token_floor});
    TRY(check_not_used_up(numbers.last_token));
    TRY(auto keep_token, database.prepare("UPDATE tokens SET last_token = ?"));
    keep_token.bind(1, static_cast<std::int64_t>(numbers.last_token));
    TRY(keep_token.run());
    TRY(auto raise,
        database.prepare("INSERT INTO fences (resource, highest_token) VALUES (?1, ?2) ON CONFLICT "
                         "(resource) DO UPDATE SET highest_token = max(highest_token, ?2)"));
    for (const service::FenceMark& mark : before.fences) {
        raise.bind(1, mark.resource);
        raise.bind(2, static_cast<std::int64_t>(mark.highest));
        TRY(raise.run());
    }
    TRY(transaction.commit());
    TRY(const auto leases, database.number("SELECT count(*) FROM locks"));
    TRY(const auto fences, database.number("SELECT count(*) FROM fences"));
    return Restored{.leases = static_cast<std::size_t>(leases),
                    .fences = static_cast<std::size_t>(fences),
                    .next_token = numbers.last_token + 1};
}

base::Result<void> examine_copy(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0)
        return base::fail(std::string("it cannot be read: ") + std::strerror(errno));
    if (!S_ISREG(status.st_mode)) return base::fail("it is no file");
    if (status.st_size == 0) return base::fail("it is empty");
    return {};
}

base::Result<void> copy_file(const std::string& from, const std::string& to) {
    const base::Descriptor made(::open(to.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
    if (!made) return base::fail("cannot make " + to + ": " + std::strerror(errno));
    std::error_code error;
    fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
    if (error) return base::fail("cannot copy it: " + error.message());
    // copy_file() has copied the permissions, too.
    if (::fchmod(made.get(), 0600) != 0)
        return base::fail(std::string("cannot keep it private: ") + std::strerror(errno));
    return {};
}

// `holdfast.db.replaced-20261115T143000Z`.
std::string name_aside(const std::string& path) {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char text[32];
    (void)std::strftime(text, sizeof text, ".replaced-%Y%m%dT%H%M%SZ", &parts);
    std::string name = path + text;
    while (exists(name)) name += '+';
    return name;
}

// Renames the log and the journal of the old database, if they are still there: they must not be used
// for the new one. They may be there although the database is not.
base::Result<void> put_logs_aside(const std::string& path, const std::string& aside) {
    for (const char* end : {"-wal", "-shm", ".journal"}) {
        const std::string log = path + end;
        if (exists(log) && ::rename(log.c_str(), (aside + end).c_str()) != 0) {
            return base::fail("cannot put " + log + " aside: " + std::strerror(errno));
        }
    }
    return {};
}

// Gives the old database a second name.
base::Result<std::string> put_aside(const std::string& path) {
    const std::string aside = name_aside(path);
    TRY(put_logs_aside(path, aside));
    if (::link(path.c_str(), aside.c_str()) != 0) {
        return base::fail("cannot put " + path + " aside: " + std::strerror(errno));
    }
    // The second name must be on disk before the first one names the new database: a power cut in
    // between must not lose the old database.
    TRY(make_folder_durable(aside));
    return aside;
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): from, to
SqliteResult<void> copy_database(const std::string& database_path, const std::string& copy_path) {
    TRY(auto database, Database::open(database_path));
    database.set_busy_timeout(5s);
    TRY(auto vacuum, database.prepare("VACUUM INTO ?"));
    vacuum.bind(1, copy_path);
    return vacuum.run();
}

// Copies the journal first, and then the database. If the journal was folded in between, the database
// has everything that was in it, and a later generation: the copy of the journal means nothing then.
SqliteResult<void> copy_all(const std::string& database_path, const std::string& copy_path) {
    auto journal = read_journal_bytes(journal_path(database_path));
    if (!journal) return tl::unexpected(SqliteError{.message = journal.error().message});
    TRY(copy_database(database_path, copy_path));
    TRY(auto copy, Database::open(copy_path));
    TRY(auto transaction, Transaction::begin(copy));
    TRY(fold_all(copy, {.bytes = std::move(*journal), .use = JournalUse::of_running_server}));
    return transaction.commit();
}

}  // namespace

base::Result<void> back_up(const std::string& database_path, const std::string& copy_path) {
    const auto refuse = [&](const auto& error) {
        return base::Error{"cannot copy " + database_path + ": " + error.message};
    };
    // SQLite accepts an empty file, and other users cannot read this one.
    const base::Descriptor made(
        ::open(copy_path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
    if (!made) return base::fail("cannot make " + copy_path + ": " + std::strerror(errno));
    auto copied = copy_all(database_path, copy_path).map_error(refuse);
    if (copied) copied = make_durable(copy_path);
    if (copied) copied = make_folder_durable(copy_path);  // its name, too
    if (!copied) ::unlink(copy_path.c_str());
    return copied;
}

base::Result<Restored> restore(const RestoreOptions& options) {
    const std::string& path = options.database_path;
    const auto of_copy = [&](const auto& error) {
        return base::Error{"cannot restore " + options.copy_path + ": " + error.message};
    };
    const auto of_database = [&](const auto& error) {
        return base::Error{"cannot restore to " + path + ": " + error.message};
    };
    TRY(examine_copy(options.copy_path).map_error(of_copy));
    TRY(make_folder_of(path).map_error(of_database));
    TRY(const auto lock, DataLock::acquire(path).map_error(of_database));
    struct stat status {};
    const bool has_database = ::stat(path.c_str(), &status) == 0 && status.st_size > 0;
    if (has_database && !options.may_replace) {
        return base::fail("there is a database already, " + path +
                          "; with --replace it is put aside");
    }
    Staged staged(path + ".restoring");
    TRY(copy_file(options.copy_path, staged.path()).map_error(of_copy));
    TRY(make_or_examine_file(staged.path(), schema_version()).map_error(of_copy));

    Numbers before;
    std::string problem;
    if (has_database) {
        auto numbers = numbers_of(path);
        if (numbers) {
            before = std::move(*numbers);
        } else {
            problem = std::move(numbers).error().message;
        }
    }
    TRY(auto restored,
        raise_numbers(staged.path(), before, options.token_floor).map_error(of_copy));
    TRY(make_durable(staged.path()));
    restored.replaced_problem = std::move(problem);
    if (has_database) {
        TRY(restored.replaced, put_aside(path).map_error(of_database));
    } else {
        TRY(put_logs_aside(path, name_aside(path)).map_error(of_database));
    }
    TRY(staged.rename_to(path));
    return restored;
}

base::Result<void> fold_database(const std::string& database_path) {
    const auto refuse = [&](const auto& error) {
        return base::Error{"cannot fold " + database_path + ": " + error.message};
    };
    if (!exists(database_path)) return base::fail("there is no database " + database_path);
    TRY(const auto lock, DataLock::acquire(database_path).map_error(refuse));
    TRY(make_or_examine_file(database_path, schema_version()).map_error(refuse));
    return fold_file(database_path).map_error(refuse);
}

}  // namespace holdfast::store
