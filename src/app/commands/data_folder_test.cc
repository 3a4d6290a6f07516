#include "app/commands/data_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace holdfast::app {
namespace {

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

    const std::filesystem::path before_ = std::filesystem::current_path();
    const std::filesystem::path place_ =
        std::filesystem::path(testing::TempDir()) / ("data_folder_" + std::to_string(::getpid()));
    const std::filesystem::path here_ = place_ / "here";
    const std::string home_ = place_ / "home";
    const Surroundings user_{.home = home_};
    const std::string usual_ = home_ + "/.local/state/holdfast";
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

TEST_F(DataFolder, IsOverlookedWhereANewOneIsMade) {
    EXPECT_EQ(overlooked_data_folder("new/holdfast.db", user_), "");
    EXPECT_EQ(overlooked_data_folder(usual_ + "/holdfast.db", user_), "");
    add_file(usual_ + "/holdfast.db");
    EXPECT_EQ(overlooked_data_folder(usual_ + "/holdfast.db", user_), "") << "it is used";
    EXPECT_EQ(overlooked_data_folder("new/holdfast.db", user_), usual_);
    EXPECT_EQ(overlooked_data_folder("locks.db", user_), usual_);
    add_file("old/holdfast.db");
    EXPECT_EQ(overlooked_data_folder("old/holdfast.db", user_), "") << "another one was chosen";
}

TEST_F(DataFolder, IsOverlookedBesideThatOfOlderVersions) {
    add_file("holdfast-data/holdfast.db");
    EXPECT_EQ(overlooked_data_folder("./holdfast-data/holdfast.db", user_), "");
    EXPECT_EQ(overlooked_data_folder("new/holdfast.db", user_),
              std::filesystem::current_path() / "holdfast-data");
    add_file(usual_ + "/holdfast.db");
    EXPECT_EQ(overlooked_data_folder("./holdfast-data/holdfast.db", user_), usual_);
}

TEST_F(DataFolder, IsNotOverlookedUnderAnotherOfItsNames) {
    add_file(usual_ + "/holdfast.db");
    std::filesystem::create_directory_symlink(usual_, "holdfast-data");
    EXPECT_EQ(overlooked_data_folder("./holdfast-data/holdfast.db", user_), "");
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
