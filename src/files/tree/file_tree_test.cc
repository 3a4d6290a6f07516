#include "files/tree/file_tree.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/crypto.h"
#include "files/tree/test_tree.h"

namespace holdfast::files::testing {
namespace {

using Texts = std::vector<std::string>;

TEST_F(TreeTest, GivesBackWhatWasPut) {
    const auto done = put(*tree_, "/documents/notes/a.txt", "hello");
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_TRUE(done->is_new);
    const auto file = tree_->open_file(path_of("/documents/notes/a.txt"));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(content_of(*file), "hello");
    EXPECT_EQ(file->info, done->info);
    EXPECT_EQ(file->info.size_bytes, 5U);
    EXPECT_EQ(file->info.content_type, "text/plain");
    EXPECT_EQ(file->info.timestamp_ms, 1'736'726'400'000);
    EXPECT_EQ(file->info.etag(), '"' + base::sha256_hex("hello") + "-1736726400000\"");
    EXPECT_EQ(take_changes(),
              (Texts{"MKDIR /documents", "MKDIR /documents/notes", "PUT /documents/notes/a.txt"}));
    EXPECT_EQ(count_temporary_files(), 0U);
}

TEST_F(TreeTest, KeepsEverythingOverARestart) {
    const auto done = put(*tree_, "/a/b", "hello");
    ASSERT_TRUE(done);
    open({});
    const auto file = tree_->open_file(path_of("/a/b"));
    ASSERT_TRUE(file);
    EXPECT_EQ(content_of(*file), "hello");
    EXPECT_EQ(file->info, done->info);
}

TEST_F(TreeTest, GivesReadersTheVersionTheyOpened) {
    ASSERT_TRUE(put(*tree_, "/a", "first"));
    const auto file = tree_->open_file(path_of("/a"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(put(*tree_, "/a", "second"));
    EXPECT_EQ(content_of(*file), "first");
    EXPECT_EQ(file->info.hash, base::sha256_hex("first"));
    EXPECT_EQ(get(*tree_, "/a"), "second");
}

TEST_F(TreeTest, KeepsTheInodeNumberOfAPathAndUsesNoneTwice) {
    const auto first = put(*tree_, "/a", "1");
    const auto second = put(*tree_, "/a", "2");
    const auto region = patch(*tree_, "/a", 0, "3");
    const auto other = put(*tree_, "/b", "1");
    ASSERT_TRUE(first && second && region && other);
    EXPECT_NE(first->info.inode_number, 0U);
    EXPECT_EQ(second->info.inode_number, first->info.inode_number);
    EXPECT_EQ(region->info.inode_number, first->info.inode_number);
    EXPECT_NE(other->info.inode_number, first->info.inode_number);
    ASSERT_TRUE(tree_->remove_file(path_of("/a"), always));
    open({});
    const auto anew = put(*tree_, "/a", "1");
    ASSERT_TRUE(anew);
    EXPECT_GT(anew->info.inode_number, other->info.inode_number);
}

TEST_F(TreeTest, GivesEveryVersionALaterTime) {
    std::int64_t last_ms = 0;
    for (int i = 0; i < 5; ++i) {  // though the clock stands still
        const auto done = put(*tree_, "/a", "the same");
        ASSERT_TRUE(done);
        EXPECT_GT(done->info.timestamp_ms, last_ms);
        EXPECT_EQ(done->is_new, i == 0);
        last_ms = done->info.timestamp_ms;
    }
    clock_.advance(1h);
    const auto later = put(*tree_, "/a", "the same");
    ASSERT_TRUE(later);
    EXPECT_EQ(later->info.timestamp_ms, 1'736'726'400'000 + 3'600'000);
}

TEST_F(TreeTest, TellsFilesFromDirectories) {
    ASSERT_TRUE(put(*tree_, "/file", "x"));
    ASSERT_TRUE(tree_->make_directory(path_of("/directory/")));
    EXPECT_EQ(fault_of(tree_->open_file(path_of("/directory"))), Fault::is_directory);
    EXPECT_EQ(fault_of(tree_->open_file(path_of("/"))), Fault::is_directory);
    EXPECT_EQ(fault_of(tree_->open_file(path_of("/file/"))), Fault::not_found);
    EXPECT_EQ(fault_of(tree_->open_file(path_of("/file/below"))), Fault::not_found);
    EXPECT_EQ(fault_of(tree_->open_file(path_of("/nothing"))), Fault::not_found);
    EXPECT_EQ(fault_of(put(*tree_, "/directory", "x")), Fault::is_directory);
    EXPECT_EQ(fault_of(put(*tree_, "/directory/", "x")), Fault::is_directory);
    EXPECT_EQ(fault_of(put(*tree_, "/new/", "x")), Fault::is_directory);
    EXPECT_EQ(fault_of(put(*tree_, "/", "x")), Fault::is_directory);
    EXPECT_EQ(fault_of(put(*tree_, "/file/below", "x")), Fault::parent_is_file);
    EXPECT_EQ(fault_of(put(*tree_, "/file/far/below", "x")), Fault::parent_is_file);
    EXPECT_EQ(fault_of(tree_->remove_file(path_of("/directory"), always)), Fault::is_directory);
    EXPECT_EQ(fault_of(tree_->remove_file(path_of("/"), always)), Fault::is_directory);
    EXPECT_EQ(fault_of(tree_->remove_directory(path_of("/file"))), Fault::not_found);
    EXPECT_EQ(tree_->is_directory(path_of("/directory")), true);
    EXPECT_EQ(tree_->is_directory(path_of("/")), true);
    EXPECT_EQ(tree_->is_directory(path_of("/file")), false);
    EXPECT_EQ(tree_->is_directory(path_of("/nothing/at/all")), false);
    EXPECT_EQ(get(*tree_, "/file"), "x");
    EXPECT_EQ(count_temporary_files(), 0U);
}

TEST_F(TreeTest, MakesAndRemovesDirectories) {
    EXPECT_EQ(fault_of(tree_->make_directory(path_of("/a/b"))), Fault::no_parent);
    EXPECT_TRUE(tree_->make_directory(path_of("/a")));
    EXPECT_TRUE(tree_->make_directory(path_of("/a/b/")));
    EXPECT_EQ(fault_of(tree_->make_directory(path_of("/a"))), Fault::exists);
    EXPECT_EQ(fault_of(tree_->make_directory(path_of("/"))), Fault::exists);
    ASSERT_TRUE(put(*tree_, "/file", "x"));
    EXPECT_EQ(fault_of(tree_->make_directory(path_of("/file"))), Fault::exists);
    EXPECT_EQ(fault_of(tree_->make_directory(path_of("/file/a"))), Fault::no_parent);
    EXPECT_EQ(fault_of(tree_->remove_directory(path_of("/a"))), Fault::not_empty);
    EXPECT_TRUE(tree_->remove_directory(path_of("/a/b")));
    EXPECT_TRUE(tree_->remove_directory(path_of("/a/")));
    EXPECT_EQ(fault_of(tree_->remove_directory(path_of("/a"))), Fault::not_found);
    EXPECT_EQ(fault_of(tree_->remove_directory(path_of("/a/b"))), Fault::not_found);
    EXPECT_EQ(fault_of(tree_->remove_directory(path_of("/"))), Fault::not_empty);
    EXPECT_EQ(take_changes(),
              (Texts{"MKDIR /a", "MKDIR /a/b", "PUT /file", "RMDIR /a/b", "RMDIR /a"}));
}

TEST_F(TreeTest, RemovesAFileIfTheCheckAgrees) {
    const auto done = put(*tree_, "/a", "x");
    ASSERT_TRUE(done);
    std::string seen;
    const auto look = [&](bool answer) {
        return [&seen, answer](const FileInfo* current) {
            seen = current == nullptr ? "" : current->etag();
            return answer;
        };
    };
    EXPECT_EQ(fault_of(tree_->remove_file(path_of("/a"), look(false))), Fault::refused);
    EXPECT_EQ(seen, done->info.etag());
    EXPECT_EQ(get(*tree_, "/a"), "x");
    EXPECT_TRUE(tree_->remove_file(path_of("/a"), look(true)));
    EXPECT_EQ(fault_of(tree_->remove_file(path_of("/a"), look(true))), Fault::not_found);
    EXPECT_EQ(take_changes(), (Texts{"PUT /a", "DELETE /a"}));
}

TEST_F(TreeTest, TellsTheETagOfANewVersion) {
    const auto done = put(*tree_, "/a", "x");
    ASSERT_TRUE(done);
    ASSERT_EQ(changes_.size(), 1U);
    EXPECT_EQ(changes_[0].etag, done->info.etag());
}

TEST_F(TreeTest, DescribesFilesThatCameByOtherMeans) {
    write_foreign_file(real("/a.json"), "[1]");
    const auto first = tree_->open_file(path_of("/a.json"));
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(first->info.hash, base::sha256_hex("[1]"));
    EXPECT_EQ(first->info.content_type, "application/json");
    EXPECT_NE(first->info.inode_number, 0U);
    open({});
    const auto again = tree_->open_file(path_of("/a.json"));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->info, first->info);
    const auto next = put(*tree_, "/a.json", "[2]");
    ASSERT_TRUE(next);
    EXPECT_FALSE(next->is_new);
    EXPECT_EQ(next->info.inode_number, first->info.inode_number);
    EXPECT_GT(next->info.timestamp_ms, first->info.timestamp_ms);
}

TEST_F(TreeTest, NoticesAFileThatWasChangedInPlace) {
    const auto done = put(*tree_, "/a", "ours");
    ASSERT_TRUE(done);
    write_foreign_file(real("/a"), "longer than it was");
    const auto file = tree_->open_file(path_of("/a"));
    ASSERT_TRUE(file);
    EXPECT_EQ(file->info.hash, base::sha256_hex("longer than it was"));
    EXPECT_EQ(file->info.inode_number, done->info.inode_number);
}

TEST_F(TreeTest, NoticesAChangeThatKeepsTheSize) {
    ASSERT_TRUE(put(*tree_, "/a", "ours"));
    write_foreign_file(real("/a"), "them");
    // Clocks of file systems tick slowly; a person's do not.
    std::filesystem::last_write_time(real("/a"),
                                     std::filesystem::file_time_type::clock::now() + 1h);
    EXPECT_EQ(tree_->open_file(path_of("/a"))->info.hash, base::sha256_hex("them"));
}

// Root may do everything, so this is tried as somebody else.
TEST(FileTree, ServesFilesItMayNotWriteTo) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(2);
        bool is_fine = false;
        {
            const TemporaryFolder folder;
            const service::ManualClock clock{service::WallTime{}};
            const auto tree = FileTree::open({.root = folder / "root"}, clock);
            write_foreign_file(folder / "root/a", "x");
            chmod((folder / "root/a").c_str(), 0444);
            const auto file = (*tree)->open_file(path_of("/a"));
            const auto done = put(**tree, "/a", "y");
            is_fine = file && content_of(*file) == "x" &&
                      file->info.hash == base::sha256_hex("x") && file->info.inode_number == 0 &&
                      done && done->info.inode_number != 0 && get(**tree, "/a") == "y";
        }
        _exit(is_fine ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(TreeTest, DoesNotTakeACopyForTheOriginal) {
    const auto done = put(*tree_, "/a", "x");
    ASSERT_TRUE(done);
    const std::string command = "cp --archive " + real("/a") + " " + real("/b");
    ASSERT_EQ(std::system(command.c_str()), 0);
    const auto copy = tree_->open_file(path_of("/b"));
    ASSERT_TRUE(copy);
    EXPECT_EQ(copy->info.hash, done->info.hash);
    EXPECT_NE(copy->info.inode_number, done->info.inode_number);
}

TEST_F(TreeTest, KeepsTheRightsOfAFileItReplaces) {
    ASSERT_TRUE(put(*tree_, "/a", "secret"));
    ASSERT_EQ(chmod(real("/a").c_str(), 0600), 0);
    ASSERT_TRUE(put(*tree_, "/a", "still secret"));
    struct stat status {};
    ASSERT_EQ(stat(real("/a").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600U);
    ASSERT_TRUE(patch(*tree_, "/a", 0, "S"));
    ASSERT_EQ(stat(real("/a").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600U);
}

TEST_F(TreeTest, MakesFilesAndDirectoriesThatOthersOnTheMachineCannotRead) {
    const mode_t before = ::umask(0);
    ASSERT_TRUE(put(*tree_, "/parent/a", "x"));
    ASSERT_TRUE(tree_->make_directory(path_of("/made")));
    ::umask(before);
    for (const auto& [path, mode] :
         {std::pair<std::string, mode_t>{"/parent/a", 0640}, {"/parent", 0750}, {"/made", 0750}}) {
        struct stat status {};
        ASSERT_EQ(stat(real(path).c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 07777, mode) << path;
    }
}

TEST_F(TreeTest, CannotBeOpenedTwice) {
    const auto second = FileTree::open({.root = folder_ / "root"}, clock_);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().message, "another server uses the files' root");
}

TEST(FileTree, SaysWhyItsRootCannotBeUsed) {
    const TemporaryFolder folder;
    const service::ManualClock clock{service::WallTime{}};
    const auto missing = FileTree::open({.root = folder / "no/such/place"}, clock);
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().message.find("No such file or directory"), std::string::npos);
    write_foreign_file(folder / "file", "x");
    const auto file = FileTree::open({.root = folder / "file"}, clock);
    ASSERT_FALSE(file);
    EXPECT_NE(file.error().message.find("Not a directory"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::files::testing
