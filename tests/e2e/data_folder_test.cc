// Where the real program has its locks when nobody says where: `holdfast serve` and the commands that
// work on its database, started from one folder and from another.

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "server_process.h"

namespace holdfast::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A user with a home, who works in two folders.
class DefaultDataFolder : public testing::Test {
  protected:
    void SetUp() override {
        for (const char* folder : {"home", "a", "b"}) {
            std::filesystem::create_directories(place_ / folder);
        }
    }
    void TearDown() override { std::filesystem::remove_all(place_); }

    [[nodiscard]] Command command(const std::string& folder,
                                  const std::vector<std::string>& words) const {
        Command command{.words = {holdfast_program},
                        .environment = {{"HOME", place_ / "home"},
                                        {"XDG_STATE_HOME", ""},
                                        {"STATE_DIRECTORY", ""},
                                        {"INVOCATION_ID", ""},
                                        {"HOLDFAST_DATA", ""},
                                        {"LOCKSERVER_DB", ""}},
                        .folder = place_ / folder};
        command.words.insert(command.words.end(), words.begin(), words.end());
        return command;
    }
    [[nodiscard]] Command serve(const std::string& folder,
                                std::vector<std::string> flags = {}) const {
        flags.insert(flags.begin(), {"serve", "--http", "127.0.0.1:0", "--dflockd", "none"});
        return command(folder, flags);
    }

    [[nodiscard]] static std::string acquire(const ServerProcess& server, const std::string& who) {
        return server.ask("POST /lock?client=" + who + "&ttl=10m").body;
    }
    static void stop(ServerProcess& server) {
        server.process.signal(SIGTERM);
        EXPECT_EQ(server.process.wait(), 0);
    }
    // What older versions left behind.
    void use_folder_of_older_versions(const std::string& folder) {
        ServerProcess server(serve(folder, {"--data", "./holdfast-data"}));
        EXPECT_THAT(acquire(server, "old"), HasSubstr("acquired"));
        stop(server);
    }
    [[nodiscard]] bool is_empty(const std::string& folder) const {
        return std::filesystem::is_empty(place_ / folder);
    }

    const std::filesystem::path place_ =
        std::filesystem::path(testing::TempDir()) / ("default_data_" + std::to_string(::getpid()));
    const std::string usual_ = place_ / "home/.local/state/holdfast";
};

TEST_F(DefaultDataFolder, IsTheSameWhereverTheServerIsStarted) {
    {
        ServerProcess server(serve("a"));
        EXPECT_EQ(server.process.wait_for_output("data "), "data " + usual_ + "/holdfast.db");
        EXPECT_THAT(server.ask("GET /v1/status").body,
                    HasSubstr("\"data\":\"" + usual_ + "/holdfast.db\""));
        EXPECT_THAT(acquire(server, "ann"), HasSubstr("acquired"));
        stop(server);
        EXPECT_THAT(server.process.error(), HasSubstr(usual_ + "/holdfast.db"));
    }
    ServerProcess server(serve("b"));
    EXPECT_THAT(acquire(server, "bob"), HasSubstr("\"holder\":\"ann\""));
    stop(server);
    EXPECT_TRUE(is_empty("a"));
    EXPECT_TRUE(is_empty("b"));
    EXPECT_THAT(server.process.error(), Not(HasSubstr("another folder")));
    EXPECT_EQ(std::filesystem::status(usual_).permissions(), std::filesystem::perms::owner_all);
}

TEST_F(DefaultDataFolder, OfXdgCountsMore) {
    Command command = serve("a");
    command.environment["XDG_STATE_HOME"] = place_ / "b";
    ServerProcess server(command);
    EXPECT_EQ(server.process.wait_for_output("data "),
              "data " + (place_ / "b/holdfast/holdfast.db").string());
    EXPECT_TRUE(is_empty("home"));
}

TEST_F(DefaultDataFolder, OfOlderVersionsIsUsedAsBefore) {
    use_folder_of_older_versions("a");
    ServerProcess server(serve("a"));
    EXPECT_EQ(server.process.wait_for_output("data "),
              "data " + (place_ / "a/holdfast-data/holdfast.db").string());
    EXPECT_THAT(acquire(server, "new"), HasSubstr("\"holder\":\"old\""));
    stop(server);
    // The machine may have a database in a folder of its system.
    EXPECT_THAT(server.process.error(), Not(HasSubstr("\"folder\":\"" + place_.string())));
    EXPECT_TRUE(is_empty("home"));
}

TEST_F(DefaultDataFolder, IsThatOfTheOtherCommandsToo) {
    use_folder_of_older_versions("a");
    const std::string old = place_ / "a/holdfast-data";
    EXPECT_EQ(run(command("a", {"fold"})).exit_code, 0);
    EXPECT_THAT(run(command("b", {"fold"})).error, HasSubstr("no database " + usual_));
    EXPECT_THAT(run(command("a", {"config"})).output, HasSubstr(old + " "));
    EXPECT_THAT(run(command("b", {"config"})).output, HasSubstr(usual_ + " "));

    // A copy of the old database, at its usual place after that.
    const std::string copy = place_ / "copy.db";
    std::filesystem::copy(old + "/holdfast.db", copy);
    const Finished refused = run(command("a", {"restore", copy}));
    EXPECT_NE(refused.exit_code, 0) << "there is a database";
    EXPECT_THAT(refused.error, HasSubstr("holdfast-data"));
    const Finished restored = run(command("b", {"restore", copy}));
    EXPECT_EQ(restored.exit_code, 0) << restored.error;
    EXPECT_THAT(restored.output, HasSubstr("the database is " + usual_ + "/holdfast.db\n"));
    const ServerProcess server(serve("b"));
    EXPECT_THAT(acquire(server, "new"), HasSubstr("\"holder\":\"old\""));
}

TEST_F(DefaultDataFolder, IsNamedIfAnotherOneIsUsedInstead) {
    {
        ServerProcess server(serve("a"));
        stop(server);
    }
    const auto says = [this](const Command& command) {
        ServerProcess server(command);
        stop(server);
        const std::string& log = server.process.error();
        if (log.find("another folder has a database") == std::string::npos) return false;
        EXPECT_THAT(log, HasSubstr(usual_)) << "which folder";
        return true;
    };
    EXPECT_TRUE(says(serve("b", {"--data", "new"})));
    EXPECT_FALSE(says(serve("b", {"--data", "new"}))) << "it is not new any more";
    Command elsewhere = serve("a");
    elsewhere.environment["XDG_STATE_HOME"] = place_ / "state";
    EXPECT_TRUE(says(elsewhere)) << "the environment is another";
    use_folder_of_older_versions("b");
    EXPECT_TRUE(says(serve("b"))) << "which of the two is meant?";
    EXPECT_FALSE(says(serve("b", {"--memory"})));
}

}  // namespace
}  // namespace holdfast::e2e
