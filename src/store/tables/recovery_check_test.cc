// Files that no server can have written are refused at the start, with the reason, and left alone.

#include <gmock/gmock.h>

#include "core/lock_table.h"
#include "store/tables/test_leases.h"

namespace holdfast::store {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;

class RecoveryCheck : public ::testing::Test {
  protected:
    // A file with one lease, number 5, of the only start before. Nothing is in its journal.
    RecoveryCheck() {
        auto database = *Database::open(path_);
        CHECK(prepare_schema(database).has_value());
        put(database, {.fence = 5,
                       .secret = 7,
                       .name = "job",
                       .owner = "laptop1",
                       .ttl = 30s,
                       .version = 1,
                       .start_number = 1});
        CHECK(database
                  .run("INSERT INTO starts VALUES (1, 'an earlier boot', 1000);"
                       "UPDATE tokens SET last_token = 5")
                  .has_value());
    }

    void damage(const std::string& sql) {
        CHECK(Database::open(path_)->run(sql.c_str()).has_value());
    }

    // What the server says when it starts with this file, having taken its leases and given out one
    // more number; "started" if nothing is wrong.
    std::string start() {
        const auto store = SqliteStore::open(path_, test_clock());
        if (!store) return store.error().message;
        core::LockTable table{core::TableOptions{}};
        const auto recovered = (*store)->recover([&](const core::RestoreRequest& request) {
            return table.restore(test_clock().now(), request);
        });
        if (!recovered) return recovered.error().message;
        table.skip_fences_below(recovered->next_fence);
        const auto granted = table.acquire(
            test_clock().now(),
            {.scope = core::Scope::named("new"), .owner = {.name = "laptop2"}, .ttl = 30s});
        return granted.kind == core::Outcome::Kind::granted ? "started" : "nothing granted";
    }

    // The file is refused, naming it and `why`, and has not been changed.
    void expect_refused(const std::string& why) {
        const auto before = contents();
        EXPECT_THAT(start(), AllOf(HasSubstr(path_), HasSubstr(why)));
        EXPECT_EQ(contents(), before);
    }

    // All values in the tables that recovery reads.
    [[nodiscard]] std::string contents() const {
        std::string text;
        for (const char* table : {"tokens", "starts", "journal", "fences", "locks"}) {
            auto database = *Database::open(path_);
            const std::string sql = "SELECT * FROM " + std::string(table);
            auto select = *database.prepare(sql.c_str());
            const int columns = std::string_view(table) == "locks" ? 21 : 2;
            while (select.step().value()) {
                for (int column = 0; column < columns; ++column) {
                    text.append(select.bytes(column)).append("|");
                }
                text += '\n';
            }
        }
        return text;
    }

    const TemporaryFolder folder_;
    const std::string path_ = folder_ / "holdfast.db";
};

TEST_F(RecoveryCheck, AFileThatIsWholeIsTaken) {
    EXPECT_EQ(start(), "started");
}

TEST_F(RecoveryCheck, TheLastNumberMustBeOneThatAServerGaveOut) {
    // With 2^53 - 1 the next number would be one that JSON cannot carry.
    for (const auto& [value, why] :
         {std::pair("9007199254740991", "9007199254740991 in it makes no sense"),
          std::pair("9007199254740992", "9007199254740992, makes no sense"),
          std::pair("9223372036854775807", "9223372036854775807, makes no sense"),
          std::pair("-1", "-1, makes no sense"), std::pair("'many'", "many, makes no sense"),
          std::pair("5.5", "5.5, makes no sense"), std::pair("x'05'", ", makes no sense")}) {
        SCOPED_TRACE(value);
        damage("UPDATE tokens SET last_token = " + std::string(value));
        expect_refused(why);
    }
    damage("UPDATE tokens SET last_token = 9007199254740990");
    EXPECT_EQ(start(), "started") << "one number is left";
}

TEST_F(RecoveryCheck, TheLastNumberMustBeThere) {
    damage("DELETE FROM tokens");
    expect_refused("the last fencing number is missing");
}

TEST_F(RecoveryCheck, TheLastNumberOfTheJournalMustBeOneToo) {
    for (const char* value : {"9007199254740991", "9007199254740992", "-1"}) {
        SCOPED_TRACE(value);
        damage("DELETE FROM journal; INSERT INTO journal VALUES (1, 1, " + std::string(value) +
               ", 0, '[0]')");
        expect_refused("makes no sense");
    }
}

TEST_F(RecoveryCheck, TheNumberOfALeaseMustLeaveOneForTheNext) {
    for (const char* value : {"9007199254740991", "9007199254740992", "0", "-5"}) {
        SCOPED_TRACE(value);
        damage("UPDATE locks SET fencing_token = " + std::string(value));
        expect_refused(std::string("fencing number ") + value + " in it makes no sense");
    }
}

TEST_F(RecoveryCheck, ALeaseMustBeOfAStartThatWas) {
    for (const char* value : {"2", "9007199254740992", "-1", "'first'"}) {
        SCOPED_TRACE(value);
        damage("UPDATE locks SET start_number = " + std::string(value));
        expect_refused("the lease with fencing number 5 in it makes no sense");
    }
}

TEST_F(RecoveryCheck, TheTimesOfALeaseMustBeTimes) {
    // A ttl_us of 0 is that of a lease without an end.
    for (const char* change :
         {"ttl_us = -1", "ttl_us = 9223372036854775807", "ttl_us = 'long'", "grace_us = -1",
          "grace_us = 'long'", "memory_us = 1.5", "acquired_ns = 'yesterday'", "version = -1",
          "version = 9007199254740992"}) {
        SCOPED_TRACE(change);
        damage(
            "BEGIN; UPDATE locks SET ttl_us = 30000000, grace_us = 0, memory_us = 0, "
            "acquired_ns = 0, version = 1; UPDATE locks SET " +
            std::string(change) + "; COMMIT");
        expect_refused("the lease with fencing number 5 in it makes no sense");
    }
}

TEST_F(RecoveryCheck, AStartMustBeOneThatWas) {
    for (const char* change : {"number = 0", "number = -1", "number = 9223372036854775807",
                               "since_boot_us = -1", "since_boot_us = 'early'"}) {
        SCOPED_TRACE(change);
        damage(
            "DELETE FROM starts; INSERT INTO starts VALUES (1, 'an earlier boot', 1000);"
            "UPDATE starts SET " +
            std::string(change));
        expect_refused("the start with number ");
    }
}

}  // namespace
}  // namespace holdfast::store
