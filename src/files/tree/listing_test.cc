#include "files/tree/listing.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "files/disk/system.h"
#include "files/tree/test_tree.h"

namespace holdfast::files::testing {
namespace {

using Texts = std::vector<std::string>;

// The paths on all pages; a directory's end in a slash.
Texts list_all(FileTree& tree, std::string_view directory, ListOptions options) {
    Texts paths;
    while (true) {
        const auto page = tree.list(path_of(directory), options);
        EXPECT_TRUE(page) << page.error().message;
        if (!page) return paths;
        EXPECT_LE(page->entries.size(), options.limit);
        for (const ListEntry& entry : page->entries) {
            paths.push_back(entry.path + (entry.is_directory ? "/" : ""));
        }
        if (!page->has_more) return paths;
        EXPECT_EQ(page->entries.size(), options.limit);
        options.cursor = path_of(page->entries.back().path);
    }
}

class ListingTest : public TreeTest {
  protected:
    void SetUp() override {
        TreeTest::SetUp();
        for (const char* path : {"/b/2", "/b/1", "/b/c/x", "/b/c/y", "/a", "/b.txt", "/z/only"}) {
            ASSERT_TRUE(put(*tree_, path, path));
        }
        ASSERT_TRUE(tree_->make_directory(path_of("/empty")));
    }
};

TEST_F(ListingTest, ShowsOnlyWhatMayBeSeenOnFullPages) {
    const auto is_shown = [](const std::string& path, bool is_directory) {
        return path.starts_with("/b/c/") || path == "/b.txt" ||
               (is_directory && (path == "/b" || path == "/b/c"));
    };
    const Texts shown{"/b/", "/b/c/", "/b/c/x", "/b/c/y", "/b.txt"};
    for (const std::size_t limit : {1U, 2U, 100U}) {
        ListOptions options{.limit = limit, .is_shallow = false, .is_shown = is_shown};
        EXPECT_EQ(list_all(*tree_, "/", options), shown) << limit;
        options.is_reverse = true;
        EXPECT_EQ(list_all(*tree_, "/", options), Texts(shown.rbegin(), shown.rend())) << limit;
    }
    EXPECT_EQ(list_all(*tree_, "/z", {.is_shown = is_shown}), Texts{});
    EXPECT_EQ(list_all(*tree_, "/", {.limit = 1, .is_shown = is_shown}), (Texts{"/b/", "/b.txt"}));
}

const Texts everything{"/a",     "/b/",    "/b/1",    "/b/2", "/b/c/",  "/b/c/x",
                       "/b/c/y", "/b.txt", "/empty/", "/z/",  "/z/only"};

TEST_F(ListingTest, NamesEverythingInOrderOnPagesOfAnySize) {
    for (std::size_t limit = 1; limit <= everything.size() + 1; ++limit) {
        EXPECT_EQ(list_all(*tree_, "/", {.limit = limit, .is_shallow = false}), everything)
            << limit;
    }
    EXPECT_EQ(list_all(*tree_, "/b", {.is_shallow = false}),
              (Texts{"/b/1", "/b/2", "/b/c/", "/b/c/x", "/b/c/y"}));
    EXPECT_EQ(list_all(*tree_, "/empty", {}), Texts{});
}

TEST_F(ListingTest, GoesBackwardsThroughExactlyTheSame) {
    Texts reversed = everything;
    std::reverse(reversed.begin(), reversed.end());
    for (std::size_t limit = 1; limit <= everything.size() + 1; ++limit) {
        EXPECT_EQ(list_all(*tree_, "/", {.limit = limit, .is_reverse = true, .is_shallow = false}),
                  reversed)
            << limit;
    }
}

TEST_F(ListingTest, StaysInTheDirectoryUnlessItIsDeep) {
    const Texts shallow{"/a", "/b/", "/b.txt", "/empty/", "/z/"};
    Texts reversed = shallow;
    std::reverse(reversed.begin(), reversed.end());
    for (std::size_t limit = 1; limit <= 6; ++limit) {
        EXPECT_EQ(list_all(*tree_, "/", {.limit = limit}), shallow);
        EXPECT_EQ(list_all(*tree_, "/", {.limit = limit, .is_reverse = true}), reversed);
    }
}

TEST_F(ListingTest, DescribesItsEntries) {
    const auto put_again = put(*tree_, "/b/1", "[1,2,3]");
    ASSERT_TRUE(put_again);
    const auto page = tree_->list(path_of("/b/"), {.limit = 1});
    ASSERT_TRUE(page);
    EXPECT_TRUE(page->has_more);
    const ListEntry& entry = page->entries.at(0);
    EXPECT_EQ(entry.path, "/b/1");
    EXPECT_FALSE(entry.is_directory);
    EXPECT_EQ(entry.size_bytes, 7U);
    EXPECT_EQ(entry.content_type, "application/json");
    EXPECT_EQ(entry.last_modified_ms, put_again->info.timestamp_ms);
    EXPECT_EQ(entry.inode_number, put_again->info.inode_number);
}

TEST_F(ListingTest, GoesOnBehindWhatIsGone) {
    auto page = tree_->list(path_of("/"), {.limit = 3, .is_shallow = false});
    ASSERT_TRUE(page);
    const FilePath cursor = path_of(page->entries.back().path);
    ASSERT_TRUE(tree_->remove_file(cursor, always));
    page = tree_->list(path_of("/"), {.limit = 2, .cursor = cursor, .is_shallow = false});
    ASSERT_TRUE(page);
    EXPECT_EQ(page->entries.at(0).path, "/b/2");
    page = tree_->list(path_of("/"), {.limit = 1, .cursor = path_of("/a/was/a/directory")});
    ASSERT_TRUE(page);
    EXPECT_EQ(page->entries.at(0).path, "/b");
}

TEST_F(ListingTest, RefusesACursorFromElsewhere) {
    for (const char* cursor : {"/a", "/b", "/bb/c", "/"}) {
        EXPECT_EQ(fault_of(tree_->list(path_of("/b"), {.cursor = path_of(cursor)})),
                  Fault::bad_cursor)
            << cursor;
    }
}

TEST_F(ListingTest, IsOfDirectoriesOnly) {
    EXPECT_EQ(fault_of(tree_->list(path_of("/a"), {})), Fault::parent_is_file);
    EXPECT_EQ(fault_of(tree_->list(path_of("/none"), {})), Fault::not_found);
}

TEST_F(ListingTest, LeavesOutWhatNoPathCanName) {
    write_foreign_file(real("/b/new\nline"), "x");
    write_foreign_file(real("/b/\xFF"), "x");
    std::filesystem::create_symlink("/etc/passwd", real("/b/link"));
    std::filesystem::create_directory_symlink("/etc", real("/b/links"));
    ASSERT_EQ(mkfifo(real("/b/pipe").c_str(), 0600), 0);
    EXPECT_EQ(list_all(*tree_, "/", {.is_shallow = false}), everything);
    EXPECT_EQ(fault_of(tree_->list(path_of("/b/links"), {})), Fault::not_found);
}

// Some names of a directory are on no page: here they are too long for a path. Those behind them
// must not be lost with them.
TEST_F(TreeTest, ListsWhatIsBehindNamesThatCannotBeListed) {
    std::string deep;
    while (deep.size() < 3850) deep += "/" + std::string(200, 'd');
    deep += "/" + std::string(path_bytes_max - deep.size() - 6, 'e');
    std::string made;
    const FilePath directory_path = path_of(deep);
    for (const std::string_view segment : directory_path.segments()) {
        made.append("/").append(segment);
        ASSERT_TRUE(tree_->make_directory(path_of(made)));
    }
    for (const char* name : {"/b", "/d", "/f"}) ASSERT_TRUE(put(*tree_, deep + name, "x"));
    const auto directory =
        open_beneath(base::Descriptor(::open(real("/").c_str(), O_RDONLY | O_CLOEXEC)).get(),
                     deep.substr(1), O_RDONLY | O_DIRECTORY);
    ASSERT_TRUE(directory);
    for (const char* name : {"aaaaaaaaaa", "cccccccccc", "eeeeeeeeee", "gggggggggg"}) {
        const base::Descriptor file(
            ::openat(directory->get(), name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        ASSERT_GE(file.get(), 0);
    }
    for (std::size_t limit = 1; limit <= 4; ++limit) {
        EXPECT_EQ(list_all(*tree_, deep, {.limit = limit}),
                  (Texts{deep + "/b", deep + "/d", deep + "/f"}));
        EXPECT_EQ(list_all(*tree_, deep, {.limit = limit, .is_reverse = true}),
                  (Texts{deep + "/f", deep + "/d", deep + "/b"}));
    }
}

TEST_F(ListingTest, NumbersFilesThatCameByOtherMeans) {
    write_foreign_file(real("/empty/foreign.txt"), "x");
    const auto page = tree_->list(path_of("/empty"), {});
    ASSERT_TRUE(page);
    ASSERT_EQ(page->entries.size(), 1U);
    const std::uint64_t number = page->entries[0].inode_number;
    EXPECT_NE(number, 0U);
    EXPECT_EQ(page->entries[0].content_type, "text/plain");
    const auto file = tree_->open_file(path_of("/empty/foreign.txt"));
    ASSERT_TRUE(file);
    EXPECT_EQ(file->info.inode_number, number);
    EXPECT_EQ(file->info.hash.size(), 64U);
}

TEST_F(TreeTest, ListsRandomTreesLikeASortedWalk) {
    std::mt19937_64 random(7);
    for (int file = 0; file < 150; ++file) {
        std::string path;
        for (auto depth = random() % 4; depth > 0; --depth)
            path += "/d" + std::to_string(random() % 4);
        std::filesystem::create_directories(real(path));
        write_foreign_file(real(path + "/f" + std::to_string(random() % 20)), "x");
    }
    // In the order of the segments: a slash sorts before everything else.
    Texts paths;
    const std::filesystem::path root = real("");
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
        const std::string path = "/" + entry.path().lexically_relative(root).string();
        if (path.starts_with("/.holdfast")) continue;
        paths.push_back(path + (entry.is_directory() ? "/" : ""));
    }
    std::sort(paths.begin(), paths.end());  // names here have nothing that sorts before a slash
    for (const std::size_t limit : {1, 2, 7, 1000}) {
        EXPECT_EQ(list_all(*tree_, "/", {.limit = limit, .is_shallow = false}), paths);
        Texts reversed(paths.rbegin(), paths.rend());
        EXPECT_EQ(list_all(*tree_, "/", {.limit = limit, .is_reverse = true, .is_shallow = false}),
                  reversed);
    }
}

}  // namespace
}  // namespace holdfast::files::testing
