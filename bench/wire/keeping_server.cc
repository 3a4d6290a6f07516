// keeping_server append|sqlite FILE REQUEST_BYTES ANSWER_BYTES: what a disk allows.
//
// An EchoLoop that writes down every request before it answers, in one of two ways:
//
//   append   all that a wake-up brought as one write to the end of the file, and one fdatasync: no
//            server whose answers can be relied upon can do less
//   sqlite   each request as a transaction of its own, which adds or removes a row, as durable as
//            Holdfast's: what is usually done

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/check.h"
#include "store/sqlite.h"
#include "wire/echo_loop.h"

namespace holdfast::bench {
namespace {

// About what Holdfast has to say of a lease.
constexpr std::size_t entry_bytes = 150;

class AppendedFile {
  public:
    explicit AppendedFile(const std::string& path)
        : descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
        CHECK(descriptor_ >= 0);
    }

    void keep(std::size_t requests) {
        entries_.resize(requests * entry_bytes, 'x');
        const auto written = ::write(descriptor_, entries_.data(), entries_.size());
        CHECK(written == static_cast<ssize_t>(entries_.size()));
        CHECK(::fdatasync(descriptor_) == 0);
    }

  private:
    const int descriptor_;
    std::string entries_;
};

class Table {
  public:
    explicit Table(const std::string& path)
        : database_(open(path)),
          put_(*database_.prepare("INSERT OR REPLACE INTO locks VALUES (?, ?)")),
          drop_(*database_.prepare("DELETE FROM locks WHERE number = ?")) {}

    void keep(std::size_t requests) {
        for (; requests > 0; --requests) keep_one();
    }

  private:
    static store::Database open(const std::string& path) {
        auto database = *store::Database::open(path);
        CHECK(database.text("PRAGMA journal_mode=WAL").value() == "wal");
        CHECK(database.run("PRAGMA synchronous=FULL"));
        CHECK(database.run("CREATE TABLE locks (number INTEGER PRIMARY KEY, lease)"));
        return database;
    }

    // A lock is taken, and given back next.
    void keep_one() {
        auto transaction = store::Transaction::begin(database_);
        CHECK(transaction.has_value());
        if (is_taken_) {
            drop_.bind(1, number_++);
            CHECK(drop_.run());
        } else {
            put_.bind(1, number_);
            put_.bind_text(2, lease_);
            CHECK(put_.run());
        }
        is_taken_ = !is_taken_;
        CHECK(transaction->commit());
    }

    store::Database database_;
    store::Statement put_, drop_;
    const std::string lease_ = std::string(entry_bytes, 'x');
    std::int64_t number_ = 1;
    bool is_taken_ = false;
};

}  // namespace
}  // namespace holdfast::bench

int main(int argument_count, char** arguments) {
    using namespace holdfast::bench;
    const std::string_view how = argument_count == 5 ? arguments[1] : "";
    if (how != "append" && how != "sqlite") {
        std::fputs("usage: keeping_server append|sqlite FILE REQUEST_BYTES ANSWER_BYTES\n", stderr);
        return 2;
    }
    EchoOptions options{.request_bytes = std::strtoul(arguments[3], nullptr, 10),
                        .answer_bytes = std::strtoul(arguments[4], nullptr, 10)};
    if (how == "append") {
        AppendedFile file(arguments[2]);
        options.keep = [&file](std::size_t requests) { file.keep(requests); };
        EchoLoop(options).run();
    }
    Table table(arguments[2]);
    options.keep = [&table](std::size_t requests) { table.keep(requests); };
    EchoLoop(options).run();
}
