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
