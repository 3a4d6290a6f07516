#include "files/disk/state_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "files/tree/test_tree.h"

namespace holdfast::files {
namespace {

using testing::run_together;
using testing::TemporaryFolder;
using testing::write_foreign_file;

class StateFolderTest : public ::testing::Test {
  protected:
    StateFolderTest() : root_(::open((folder_ / "").c_str(), O_RDONLY | O_DIRECTORY)) {}

    std::unique_ptr<StateFolder> open() {
        auto opened = StateFolder::open(root_.get());
        EXPECT_TRUE(opened) << opened.error().message;
        return opened ? std::move(*opened) : nullptr;
    }
    [[nodiscard]] std::string real(const std::string& name) const {
        return folder_ / (".holdfast/" + name);
    }

    const TemporaryFolder folder_;
    const base::Descriptor root_;
};

TEST_F(StateFolderTest, IsForOneServerAtATime) {
    auto first = open();
    const auto second = StateFolder::open(root_.get());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().message, "another server uses the files' root");
    first.reset();
    EXPECT_TRUE(StateFolder::open(root_.get()));
}

TEST_F(StateFolderTest, RemovesWhatAnEarlierRunLeft) {
    open().reset();
    write_foreign_file(real("tmp/0000000000000007"), "half a file");
    open();
    EXPECT_TRUE(std::filesystem::is_empty(real("tmp")));
}

TEST_F(StateFolderTest, RefusesALinkInItsPlace) {
    std::filesystem::create_directory(folder_ / "elsewhere");
    std::filesystem::create_directory_symlink(folder_ / "elsewhere", folder_ / ".holdfast");
    EXPECT_FALSE(StateFolder::open(root_.get()));
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "elsewhere"));
}

TEST_F(StateFolderTest, RefusesAFileSystemWithoutAttributes) {
    const base::Descriptor proc(::open("/proc/self", O_RDONLY | O_DIRECTORY));
    EXPECT_FALSE(StateFolder::open(proc.get()));
}

TEST_F(StateFolderTest, KeepsSmallFiles) {
    auto state = open();
    auto sub = state->open_folder("things");
    ASSERT_TRUE(sub);
    ASSERT_TRUE(state->write_small_file(sub->get(), "a", "one"));
    ASSERT_TRUE(state->write_small_file(sub->get(), "b", "two"));
    ASSERT_TRUE(state->write_small_file(sub->get(), "a", "three"));
    const std::map<std::string, std::string> both{{"a", "three"}, {"b", "two"}};
    EXPECT_EQ(StateFolder::read_small_files(sub->get()), both);
    EXPECT_EQ(StateFolder::read_small_file(sub->get(), "b"), "two");
    EXPECT_TRUE(StateFolder::remove_small_file(sub->get(), "b"));
    EXPECT_TRUE(StateFolder::remove_small_file(sub->get(), "b"));
    EXPECT_FALSE(StateFolder::read_small_file(sub->get(), "b"));
    EXPECT_EQ(std::filesystem::status(real("things/a")).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    EXPECT_TRUE(std::filesystem::is_empty(real("tmp")));
}

TEST_F(StateFolderTest, TakesATemporaryFileAwayUnlessItGotAName) {
    auto state = open();
    {
        const auto file = state->make_temporary_file();
        ASSERT_TRUE(file);
        EXPECT_FALSE(std::filesystem::is_empty(real("tmp")));
    }
    EXPECT_TRUE(std::filesystem::is_empty(real("tmp")));
}

// Two servers share a root only if the file system has lost the lock of one of them.
TEST_F(StateFolderTest, DoesNotTouchTheTemporaryFilesOfItsSuccessor) {
    auto old = open();
    std::optional file(old->make_temporary_file());
    ASSERT_TRUE(*file);
    std::filesystem::remove(real("lock"));
    auto next = open();
    const auto successor = next->make_temporary_file();
    ASSERT_TRUE(successor);
    ASSERT_FALSE(std::filesystem::is_empty(real("tmp")));
    EXPECT_FALSE((*file)->rename_to(root_.get(), "version"));
    file.reset();
    EXPECT_FALSE(std::filesystem::is_empty(real("tmp")));
}

TEST_F(StateFolderTest, NeverGivesAnInodeNumberTwice) {
    std::set<std::uint64_t> seen;
    for (int run = 0; run < 3; ++run) {
        auto state = open();
        auto numbers = InodeNumbers::open(*state);
        ASSERT_TRUE(numbers) << numbers.error().message;
        std::mutex mutex;
        run_together(4, [&](int) {
            for (int j = 0; j < 300; ++j) {
                const auto number = (*numbers)->take();
                const std::lock_guard lock(mutex);
                ASSERT_TRUE(number);
                EXPECT_TRUE(seen.insert(*number).second) << *number;
            }
        });
    }
    EXPECT_EQ(seen.size(), 3'600U);
    EXPECT_FALSE(seen.contains(0));
}

TEST_F(StateFolderTest, RefusesADamagedCounterOfInodeNumbers) {
    auto state = open();
    for (const char* text : {"", "0", "abc", "-1", "12 "}) {
        write_foreign_file(real("next_inode"), text);
        EXPECT_FALSE(InodeNumbers::open(*state)) << text;
    }
}

}  // namespace
}  // namespace holdfast::files
