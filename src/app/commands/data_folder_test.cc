#include "app/commands/data_folder.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace holdfast::app {
namespace {

using ::testing::ElementsAre;

// A folder of its own, which is the current folder until the test ends.
class DataFolder : public testing::Test {
  protected:
    void SetUp() override {
        std::filesystem::create_directories(here_);
        std::filesystem::current_path(here_);
    }
    void TearDown() override {
        std::filesystem::current_path(before_);
        std::filesystem::remove_all(place_);
    }

    static void add_file(const std::filesystem::path& path) {
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << "x";
    }

    // Among folders of this test alone: the machine may have a database in those of its system.
    [[nodiscard]] std::string overlooked(const std::string& database) const {
        return overlooked_data_folder(database,
                                      {service_, xdg_, usual_, system_, data_folder_here});
    }

    const std::filesystem::path before_ = std::filesystem::current_path();
    const std::filesystem::path place_ =
        std::filesystem::path(testing::TempDir()) / ("data_folder_" + std::to_string(::getpid()));
    const std::filesystem::path here_ = place_ / "here";
    const std::string home_ = place_ / "home";
    const Surroundings user_{.home = home_};
    const std::string usual_ = home_ + "/.local/state/holdfast";
    const std::string service_ = place_ / "service";
    const std::string xdg_ = place_ / "state/holdfast";
    const std::string system_ = place_ / "var/lib/holdfast";
};

TEST_F(DataFolder, IsTheStateFolderOfTheUser) {
    EXPECT_EQ(usual_data_folder({.home = "/home/ann"}), "/home/ann/.local/state/holdfast");
    EXPECT_EQ(usual_data_folder({.state_home = "/state", .home = "/home/ann"}), "/state/holdfast");
    EXPECT_EQ(usual_data_folder({.state_home = "state", .home = "/home/ann"}),
              "/home/ann/.local/state/holdfast");
    EXPECT_EQ(usual_data_folder({.home = "/root", .is_root = true}), "/root/.local/state/holdfast");
    EXPECT_EQ(usual_data_folder({}), "./holdfast-data");
}

TEST_F(DataFolder, OfAServiceIsThatOfTheSystem) {
    EXPECT_EQ(usual_data_folder({.is_root = true, .is_service = true}), "/var/lib/holdfast");
    EXPECT_EQ(usual_data_folder({.home = "/root", .is_root = true, .is_service = true}),
              "/var/lib/holdfast");
    EXPECT_EQ(usual_data_folder({.is_root = true}), "/var/lib/holdfast");
    EXPECT_EQ(usual_data_folder({.home = "/var/lib/holdfast"}), "/var/lib/holdfast");
    EXPECT_EQ(usual_data_folder({.home = "/home/ann", .is_service = true}),
              "/home/ann/.local/state/holdfast");
    EXPECT_EQ(usual_data_folder({.state_directory = "/var/lib/locks:/var/lib/other",
                                 .state_home = "/state",
                                 .home = "/root",
                                 .is_root = true,
                                 .is_service = true}),
              "/var/lib/locks");
}

TEST_F(DataFolder, OfOlderVersionsIsUsedIfItHasADatabase) {
    EXPECT_EQ(default_data_folder(user_), usual_);
    std::filesystem::create_directories("holdfast-data/terraform");
    EXPECT_EQ(default_data_folder(user_), usual_) << "it has no database";
    add_file("holdfast-data/holdfast.db.journal");
    EXPECT_EQ(default_data_folder(user_), "./holdfast-data") << "its database was lost";
    std::filesystem::remove_all("holdfast-data");
    add_file("holdfast-data/holdfast.db");
    EXPECT_EQ(default_data_folder(user_), "./holdfast-data");
}

// Of these is the warning at the start: each folder of the table in docs/durability.md.
TEST_F(DataFolder, IsOneOfAllThatAServerMayUse) {
    EXPECT_THAT(possible_data_folders({.state_directory = "/state/locks:/state/other",
                                       .state_home = "/state",
                                       .home = "/home/ann"}),
                ElementsAre("/state/locks", "/state/holdfast", "/home/ann/.local/state/holdfast",
                            "/var/lib/holdfast", "./holdfast-data"));
    EXPECT_THAT(possible_data_folders({.state_home = "state"}),
                ElementsAre("/var/lib/holdfast", "./holdfast-data"));
    EXPECT_THAT(possible_data_folders({.home = "/root", .is_root = true, .is_service = true}),
                ElementsAre("/var/lib/holdfast", "/root/.local/state/holdfast", "./holdfast-data"));
}

TEST_F(DataFolder, IsOverlookedWhereANewOneIsMade) {
    EXPECT_EQ(overlooked("new/holdfast.db"), "");
    EXPECT_EQ(overlooked(usual_ + "/holdfast.db"), "");
    add_file(usual_ + "/holdfast.db");
    EXPECT_EQ(overlooked(usual_ + "/holdfast.db"), "") << "it is used";
    EXPECT_EQ(overlooked("new/holdfast.db"), usual_);
    EXPECT_EQ(overlooked("locks.db"), usual_);
    add_file("old/holdfast.db");
    EXPECT_EQ(overlooked("old/holdfast.db"), "") << "another one was chosen";
}

// The server was started as a service, or with another environment, and is now started by hand.
TEST_F(DataFolder, IsOverlookedWhereverItIs) {
    for (const std::string& folder : {service_, xdg_, usual_, system_}) {
        add_file(folder + "/holdfast.db");
        EXPECT_EQ(overlooked("new/holdfast.db"), folder);
        for (const std::string& other : {service_, xdg_, usual_, system_}) {
            EXPECT_EQ(overlooked(other + "/holdfast.db"), other == folder ? "" : folder) << other;
        }
        std::filesystem::remove_all(folder);
    }
    add_file(system_ + "/holdfast.db.journal");
    EXPECT_EQ(overlooked("new/holdfast.db"), system_) << "its database was lost";
    add_file(xdg_ + "/holdfast.db");
    EXPECT_EQ(overlooked("new/holdfast.db"), xdg_) << "the first of two";
}

TEST_F(DataFolder, IsOverlookedBesideThatOfOlderVersions) {
    add_file("holdfast-data/holdfast.db");
    EXPECT_EQ(overlooked("./holdfast-data/holdfast.db"), "");
    EXPECT_EQ(overlooked("new/holdfast.db"), std::filesystem::current_path() / "holdfast-data");
    add_file(system_ + "/holdfast.db");
    EXPECT_EQ(overlooked("./holdfast-data/holdfast.db"), system_);
}

TEST_F(DataFolder, IsNotOverlookedUnderAnotherOfItsNames) {
    add_file(usual_ + "/holdfast.db");
    std::filesystem::create_directory_symlink(usual_, "holdfast-data");
    EXPECT_EQ(overlooked("./holdfast-data/holdfast.db"), "");
}

TEST_F(DataFolder, IsShownWithItsWholePath) {
    const std::string here = std::filesystem::current_path();
    EXPECT_EQ(absolute_path("./holdfast-data"), here + "/holdfast-data");
    EXPECT_EQ(absolute_path("a/../b"), here + "/b");
    EXPECT_EQ(absolute_path("/var/lib/holdfast"), "/var/lib/holdfast");
    EXPECT_EQ(absolute_path(""), here + "/");
}

}  // namespace
}  // namespace holdfast::app
