// The real program on a disk that fails it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <optional>

#include "durable.h"
#include "small_disk.h"
#include "store/sqlite.h"

namespace holdfast::e2e {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Locks are taken until the disk is full. Who was told of success has a lock, who was not has none;
// and when there is room again the server goes on by itself.
void fill_and_recover(SmallDisk& disk) {
    const Command command = disk.limit(serve_command(flags_for(disk.folder())));
    std::vector<std::string> held;
    {
        ServerProcess server(command);
        Crowd crowd(server, 1, Habit::keep);
        crowd.finish();  // everybody was refused, some time
        held = crowd.held();
        ASSERT_THAT(held, Not(IsEmpty()));
        ASSERT_THAT(crowd.refusals(), SizeIs(Crowd::clients)) << "somebody was not answered";
        for (const Heard& refusal : crowd.refusals()) {
            EXPECT_EQ(refusal.status, 503) << refusal.text;
            EXPECT_THAT(refusal.text,
                        AnyOf(HasSubstr("disk is full"), HasSubstr("disk I/O error")));
        }
        disk.make_room(server);
        EXPECT_EQ(ask_until_served(server, "GET /lock").status, 200);
        expect_held(server, held);
        expect_free(server, crowd.refused());
        EXPECT_EQ(server.ask("POST /lock?client=me&ttl=10m&job=afterwards").status, 200);
        held.emplace_back("afterwards");
        kill_at_once(server);
    }
    const ServerProcess again(flags_for(disk.folder()));
    expect_held(again, held);
}

TEST(Disk, AFullOneTakesNothingFromAnybody) {
    const auto disk = mount_small_disk();
    if (!disk) GTEST_SKIP() << "file systems cannot be mounted here; the next test does without";
    fill_and_recover(*disk);
}

TEST(Disk, AFileThatCannotGrowTakesNothingFromAnybody) {
    const auto disk = limit_files();
    fill_and_recover(*disk);
}

TEST(Disk, AReadOnlyOneIsSaidToBe) {
    const ReadOnlyFolder folder;
    const Finished finished = run(serve_command(flags_for(folder.path())));
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_THAT(finished.error,
                AllOf(HasSubstr("holdfast: cannot use " + folder.path() + "/holdfast.db"),
                      AnyOf(HasSubstr("Read-only file system"), HasSubstr("Permission denied"),
                            HasSubstr("Not a directory"))));
}

TEST(Disk, WhileAnotherProgramWritesLocksAreInTheJournal) {
    const DataFolder folder;
    std::optional<ServerProcess> server(flags_for(folder.path()));
    EXPECT_EQ(server->ask("POST /lock?client=me&ttl=10m&job=before").status, 200);
    auto other = *store::Database::open(folder.database());
    other.set_busy_timeout(60s);
    {
        const auto writing = store::Transaction::begin(other);
        ASSERT_TRUE(writing);
        EXPECT_EQ(server->ask("POST /lock?client=me&ttl=10m&job=during").status, 200);
        kill_at_once(*server);
    }
    server.emplace(flags_for(folder.path()));
    expect_held(*server, {"before", "during"});
    EXPECT_EQ(server->ask("POST /lock?client=me&ttl=10m&job=after").status, 200);
    kill_at_once(*server);
    server.emplace(flags_for(folder.path()));
    expect_held(*server, {"before", "during", "after"});
}

net::TestResponse post(const ServerProcess& server, const std::string& line,
                       const std::string& body) {
    net::TestClient client = server.connect();
    client.send("POST " + line + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body);
    return client.response();
}

// A lease on as much text as a request may name: few of these fill the journal.
std::string lease_on_long_names(int number) {
    std::string scopes;
    for (int member = 0; member < 16; ++member) {
        const std::string name = std::to_string(number) + "-" + std::to_string(member) + "-";
        scopes += (scopes.empty() ? "\"" : ",\"") + name + std::string(4000, 'x') + "\"";
    }
    return R"({"scopes":[)" + scopes + R"(],"holder":"w","duration_ms":3600000})";
}

// At first nobody notices that another program has locked the database. When the journal is full, a
// commit waits for that program for three seconds, and then everything is refused until it has ended.
TEST(Disk, ALockedDatabaseIsNoticedWhenTheJournalIsFull) {
    const DataFolder folder;
    const ServerProcess server(flags_for(folder.path()));
    const auto metrics = [&] { return server.ask("GET /metrics").body; };
    auto other = *store::Database::open(folder.database());
    other.set_busy_timeout(60s);
    int granted = 0;
    {
        const auto writing = store::Transaction::begin(other);
        ASSERT_TRUE(writing);
        EXPECT_THAT(metrics(), HasSubstr("lock_db_busy_total{op=\"acquire\"} 0\n"));
        net::TestResponse heard;
        for (; granted < 400; ++granted) {
            heard = post(server, "/v1/leases", lease_on_long_names(granted));
            if (heard.status != 200) break;
        }
        // A lease takes 64 kB, and the journal has 16 MiB.
        EXPECT_GE(granted, 240);
        EXPECT_LE(granted, 265);
        EXPECT_EQ(heard.status, 503);
        EXPECT_THAT(heard.body, AllOf(HasSubstr("StoreBusy"), HasSubstr("database is locked")));
        const std::string proof =
            R"({"owner_id":"w","lease_id":"01981342-deaf-4ec0-a96c-e212d211d8de","fencing_token":1)";
        heard = post(server, "/v1/locks/x/acquire", R"({"owner_id":"w","ttl_ms":5000})");
        EXPECT_EQ(heard.status, 409);
        EXPECT_EQ(heard.body, R"({"acquired":false,"lock_name":"x","recommended_retry_ms":50,)"
                              R"("reason":"BUSY_RETRY"})"
                              "\n");
        heard = post(server, "/v1/locks/x/renew", proof + R"(,"extend_by_ms":5000})");
        EXPECT_EQ(heard.status, 409);
        EXPECT_THAT(heard.body, HasSubstr("BUSY_RETRY"));
        heard = post(server, "/v1/locks/x/release", proof + "}");
        EXPECT_EQ(heard.status, 200);
        EXPECT_THAT(heard.body, AllOf(HasSubstr(R"("released":false)"), HasSubstr("BUSY_RETRY")));
        EXPECT_EQ(server.ask("GET /v1/locks/x").status, 503);
        EXPECT_THAT(metrics(), AllOf(HasSubstr("lock_db_busy_total{op=\"acquire\"} 2\n"),
                                     HasSubstr("lock_db_busy_total{op=\"renew\"} 1\n"),
                                     HasSubstr("lock_db_busy_total{op=\"release\"} 1\n"),
                                     HasSubstr("holdfast_ready 0\n")));
    }
    EXPECT_EQ(ask_until_served(server, "GET /v1/locks/x").status, 200);
    EXPECT_EQ(server.ask("POST /lock?client=me&ttl=10m&job=after").status, 200);
    EXPECT_THAT(metrics(), HasSubstr("locks_held " + std::to_string(granted + 1) + "\n"));
}

// What a killed server has said is in its journal at first. After `holdfast fold` it is in the
// database, for everybody to read.
TEST(Disk, AfterAFoldTheDatabaseShowsEverything) {
    const DataFolder folder;
    ServerProcess server(flags_for(folder.path()));
    for (int job = 0; job < 20; ++job) {
        const std::string name = "POST /lock?client=me&ttl=10m&job=job" + std::to_string(job);
        EXPECT_EQ(server.ask(name).status, 200);
    }
    const Command fold{.words = {holdfast_program, "fold", "--data", folder.path()}};
    const Finished refused = run(fold);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.error, HasSubstr("in use by process"));
    kill_at_once(server);
    const Finished folded = run(fold);
    EXPECT_EQ(folded.exit_code, 0) << folded.error;
    auto database = *store::Database::open(folder.database());
    EXPECT_EQ(database.number("SELECT count(*) FROM lock_state").value(), 20);
}

TEST(Disk, AServerThatHasLostItsJournalDoesNotStart) {
    const DataFolder folder;
    ServerProcess server(flags_for(folder.path()));
    EXPECT_EQ(server.ask("POST /lock?client=me&ttl=10m").status, 200);
    kill_at_once(server);
    ASSERT_TRUE(std::filesystem::remove(folder.database() + ".journal"));
    const Finished finished = run(serve_command(flags_for(folder.path())));
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_THAT(finished.error,
                HasSubstr("holdfast.db: its journal cannot be used: the file is missing"));
}

}  // namespace
}  // namespace holdfast::e2e
