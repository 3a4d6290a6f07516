#include "files/tree/upload.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/crypto.h"
#include "files/tree/test_tree.h"

namespace holdfast::files::testing {
namespace {

TEST_F(TreeTest, TakesAnUploadInPieces) {
    std::string content;
    auto upload = tree_->begin_upload({.path = path_of("/large")});
    ASSERT_TRUE(upload);
    for (int i = 0; i < 300; ++i) {
        const std::string piece(static_cast<std::size_t>(i * 37 % 5'000), static_cast<char>(i));
        ASSERT_TRUE(upload->append(piece));
        content += piece;
    }
    EXPECT_EQ(upload->received_bytes(), content.size());
    const auto done = upload->commit(always);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->info.hash, base::sha256_hex(content));
    EXPECT_EQ(get(*tree_, "/large"), content);
}

TEST_F(TreeTest, TakesAnEmptyFile) {
    const auto done = put(*tree_, "/empty", "");
    ASSERT_TRUE(done);
    EXPECT_EQ(done->info.hash, base::sha256_hex(""));
    EXPECT_EQ(get(*tree_, "/empty"), "");
}

TEST_F(TreeTest, LeavesNothingOfAnAbandonedUpload) {
    {
        auto upload = tree_->begin_upload({.path = path_of("/new/a")});
        ASSERT_TRUE(upload);
        ASSERT_TRUE(upload->append("half"));
        EXPECT_EQ(count_temporary_files(), 1U);
        const Upload moved = std::move(*upload);
        EXPECT_EQ(count_temporary_files(), 1U);
    }
    EXPECT_EQ(count_temporary_files(), 0U);
    EXPECT_EQ(tree_->is_directory(path_of("/new")), false);
    EXPECT_TRUE(take_changes().empty());
}

TEST_F(TreeTest, ChangesNothingWhenTheCheckRefuses) {
    const auto before = put(*tree_, "/a", "old");
    ASSERT_TRUE(before);
    take_changes();
    const auto no = [](const FileInfo*) { return false; };
    EXPECT_EQ(fault_of(put(*tree_, "/a", "new", no)), Fault::refused);
    EXPECT_EQ(fault_of(patch(*tree_, "/a", 1, "new", no)), Fault::refused);
    EXPECT_EQ(fault_of(put(*tree_, "/some/where/else", "new", no)), Fault::refused);
    EXPECT_EQ(get(*tree_, "/a"), "old");
    EXPECT_EQ(tree_->open_file(path_of("/a"))->info, before->info);
    EXPECT_EQ(tree_->is_directory(path_of("/some")), false);
    EXPECT_TRUE(take_changes().empty());
    EXPECT_EQ(count_temporary_files(), 0U);
}

TEST_F(TreeTest, ShowsTheCheckWhatWouldBeReplaced) {
    std::vector<std::string> seen;
    const auto look = [&](const FileInfo* current) {
        seen.push_back(current == nullptr ? "nothing" : current->etag());
        return true;
    };
    const auto first = put(*tree_, "/a", "1", look);
    const auto second = put(*tree_, "/a", "2", look);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(seen, (std::vector<std::string>{"nothing", first->info.etag()}));
}

// The lock is lost while the bytes are on their way: another one has committed meanwhile.
TEST_F(TreeTest, AsksTheCheckAtTheCommitAndNotBefore) {
    bool is_lease_live = true;
    const auto check = [&](const FileInfo*) { return is_lease_live; };
    auto slow = tree_->begin_upload({.path = path_of("/a")});
    ASSERT_TRUE(slow);
    ASSERT_TRUE(slow->append("slow"));
    is_lease_live = false;
    ASSERT_TRUE(put(*tree_, "/a", "fast"));
    EXPECT_EQ(fault_of(slow->commit(check)), Fault::refused);
    EXPECT_EQ(get(*tree_, "/a"), "fast");
}

TEST_F(TreeTest, CommitsOverWhatHappenedDuringTheUpload) {
    const auto first = put(*tree_, "/a", "1");
    ASSERT_TRUE(first);
    auto upload = tree_->begin_upload({.path = path_of("/a")});
    ASSERT_TRUE(upload);
    ASSERT_TRUE(upload->append("3"));
    ASSERT_TRUE(tree_->remove_file(path_of("/a"), always));
    const auto second = put(*tree_, "/a", "2");
    ASSERT_TRUE(second);
    const auto third = upload->commit(always);
    ASSERT_TRUE(third);
    EXPECT_FALSE(third->is_new);
    EXPECT_NE(second->info.inode_number, first->info.inode_number);
    EXPECT_EQ(third->info.inode_number, second->info.inode_number);
    EXPECT_GT(third->info.timestamp_ms, second->info.timestamp_ms);
    EXPECT_EQ(tree_->open_file(path_of("/a"))->info, third->info);
}

TEST_F(TreeTest, MakesTheDirectoryAgainThatWasRemovedDuringTheUpload) {
    ASSERT_TRUE(tree_->make_directory(path_of("/a")));
    auto upload = tree_->begin_upload({.path = path_of("/a/b")});
    ASSERT_TRUE(upload);
    ASSERT_TRUE(tree_->remove_directory(path_of("/a")));
    EXPECT_TRUE(upload->commit(always));
    EXPECT_EQ(get(*tree_, "/a/b"), "");
}

TEST_F(TreeTest, MakesTheDirectoryAgainThatWasRemovedDuringTheCommit) {
    ASSERT_TRUE(tree_->make_directory(path_of("/a")));
    int asked = 0;
    const auto done = put(*tree_, "/a/b", "x", [&](const FileInfo*) {
        if (++asked == 1) std::filesystem::remove(real("/a"));
        return true;
    });
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_GT(asked, 1);  // the last answer counts, and that was after the directory had come back
    EXPECT_EQ(get(*tree_, "/a/b"), "x");
}

TEST_F(TreeTest, RefusesWhatIsLargerThanAFileMayBe) {
    open({.file_bytes_max = 10});
    EXPECT_TRUE(put(*tree_, "/a", "0123456789"));
    EXPECT_EQ(fault_of(put(*tree_, "/a", "0123456789A")), Fault::too_large);
    EXPECT_EQ(fault_of(tree_->begin_upload({.path = path_of("/a"), .expected_bytes = 11})),
              Fault::too_large);
    EXPECT_EQ(fault_of(tree_->begin_upload({.path = path_of("/a"), .expected_bytes = UINT64_MAX})),
              Fault::too_large);
    EXPECT_EQ(fault_of(patch(*tree_, "/a", 8, "abc")), Fault::too_large);
    EXPECT_TRUE(patch(*tree_, "/a", 8, "ab"));
    EXPECT_EQ(get(*tree_, "/a"), "01234567ab");
}

TEST_F(TreeTest, AnUploadThatFailedOnceFailsForEver) {
    open({.file_bytes_max = 3});
    auto upload = tree_->begin_upload({.path = path_of("/a")});
    ASSERT_TRUE(upload);
    EXPECT_EQ(fault_of(upload->append("0123")), Fault::too_large);
    EXPECT_EQ(fault_of(upload->append("0")), Fault::too_large);
    EXPECT_EQ(fault_of(upload->commit(always)), Fault::too_large);
    EXPECT_EQ(get(*tree_, "/a"), "(File not found)");
}

TEST_F(TreeTest, KeepsToItsQuota) {
    open({.quota_bytes = 100});
    EXPECT_EQ(tree_->used_bytes(), 0U);
    ASSERT_TRUE(put(*tree_, "/a", std::string(60, 'a')));
    EXPECT_EQ(fault_of(put(*tree_, "/b", std::string(41, 'b'))), Fault::over_quota);
    EXPECT_EQ(fault_of(tree_->begin_upload({.path = path_of("/b"), .expected_bytes = 41})),
              Fault::over_quota);
    ASSERT_TRUE(put(*tree_, "/b", std::string(40, 'b')));
    EXPECT_EQ(tree_->used_bytes(), 100U);
    ASSERT_TRUE(put(*tree_, "/a", std::string(60, 'c')));  // takes the place of as much
    EXPECT_EQ(fault_of(put(*tree_, "/a", std::string(61, 'c'))), Fault::over_quota);
    ASSERT_TRUE(put(*tree_, "/a", std::string(50, 'd')));
    EXPECT_EQ(tree_->used_bytes(), 90U);
    EXPECT_EQ(fault_of(patch(*tree_, "/a", 45, std::string(16, 'e'))), Fault::over_quota);
    ASSERT_TRUE(patch(*tree_, "/a", 45, std::string(15, 'e')));
    EXPECT_EQ(tree_->used_bytes(), 100U);
    ASSERT_TRUE(tree_->remove_file(path_of("/a"), always));
    EXPECT_EQ(tree_->used_bytes(), 40U);
    EXPECT_EQ(count_temporary_files(), 0U);
}

TEST_F(TreeTest, CountsUploadsOnTheirWayAgainstTheQuota) {
    open({.quota_bytes = 100});
    {
        auto one = tree_->begin_upload({.path = path_of("/one"), .expected_bytes = 60});
        auto two = tree_->begin_upload({.path = path_of("/two"), .expected_bytes = 60});
        ASSERT_TRUE(one && two);
        ASSERT_TRUE(one->append(std::string(60, 'a')));
        EXPECT_EQ(fault_of(two->append(std::string(60, 'b'))), Fault::over_quota);
    }
    EXPECT_TRUE(put(*tree_, "/three", std::string(100, 'c')));  // the reservation has ended
}

TEST_F(TreeTest, AFileThatBecameSmallerDuringTheUploadLendsNoRoom) {
    open({.quota_bytes = 100});
    ASSERT_TRUE(put(*tree_, "/a", std::string(60, 'a')));
    auto upload = tree_->begin_upload({.path = path_of("/a")});
    ASSERT_TRUE(upload);
    ASSERT_TRUE(upload->append(std::string(60, 'b')));
    ASSERT_TRUE(tree_->remove_file(path_of("/a"), always));
    ASSERT_TRUE(put(*tree_, "/b", std::string(60, 'c')));
    EXPECT_EQ(fault_of(upload->commit(always)), Fault::over_quota);
    EXPECT_EQ(tree_->used_bytes(), 60U);
    EXPECT_EQ(get(*tree_, "/a"), "(File not found)");
}

TEST_F(TreeTest, CountsWhatIsThereAtTheStart) {
    ASSERT_TRUE(put(*tree_, "/a/b/c", std::string(30, 'a')));
    write_foreign_file(real("/a/d"), std::string(20, 'b'));
    EXPECT_EQ(tree_->used_bytes(), std::nullopt);
    open({.quota_bytes = 60});
    EXPECT_EQ(tree_->used_bytes(), 50U);
    EXPECT_EQ(fault_of(put(*tree_, "/e", std::string(11, 'c'))), Fault::over_quota);
    EXPECT_TRUE(put(*tree_, "/e", std::string(10, 'c')));
}

TEST_F(TreeTest, WritesARegionOverAFile) {
    const auto first = put(*tree_, "/a.txt", "0123456789");
    ASSERT_TRUE(first);
    const auto reader = tree_->open_file(path_of("/a.txt"));
    const auto second = patch(*tree_, "/a.txt", 3, "abc");
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_EQ(get(*tree_, "/a.txt"), "012abc6789");
    EXPECT_EQ(second->info.hash, base::sha256_hex("012abc6789"));
    EXPECT_EQ(second->info.size_bytes, 10U);
    EXPECT_EQ(second->info.content_type, "text/plain");
    EXPECT_FALSE(second->is_new);
    EXPECT_EQ(content_of(*reader), "0123456789");
    EXPECT_EQ(tree_->open_file(path_of("/a.txt"))->info, second->info);
    ASSERT_TRUE(patch(*tree_, "/a.txt", 10, "!"));
    ASSERT_TRUE(patch(*tree_, "/a.txt", 8, "--------"));
    EXPECT_EQ(get(*tree_, "/a.txt"), "012abc67--------");
    EXPECT_EQ(count_temporary_files(), 0U);
}

TEST_F(TreeTest, LeavesNoHoleInAFile) {
    EXPECT_EQ(fault_of(patch(*tree_, "/a", 0, "x")), Fault::not_found);
    ASSERT_TRUE(put(*tree_, "/a", "0123"));
    EXPECT_EQ(fault_of(patch(*tree_, "/a", 5, "x")), Fault::leaves_hole);
    EXPECT_EQ(fault_of(patch(*tree_, "/a", UINT64_MAX, "x")), Fault::leaves_hole);
    auto upload = tree_->begin_upload({.path = path_of("/a"), .region_start = 4});
    ASSERT_TRUE(upload);
    ASSERT_TRUE(upload->append("x"));
    ASSERT_TRUE(put(*tree_, "/a", "012"));  // shorter, meanwhile
    EXPECT_EQ(fault_of(upload->commit(always)), Fault::leaves_hole);
    EXPECT_EQ(get(*tree_, "/a"), "012");
}

TEST_F(TreeTest, KeepsBothOfTwoRegionsOnTheirWay) {
    ASSERT_TRUE(put(*tree_, "/a", "0123456789"));
    auto left = tree_->begin_upload({.path = path_of("/a"), .region_start = 0});
    auto right = tree_->begin_upload({.path = path_of("/a"), .region_start = 7});
    ASSERT_TRUE(left && right);
    ASSERT_TRUE(right->append("RRR"));
    ASSERT_TRUE(left->append("LLL"));
    ASSERT_TRUE(right->commit(always));
    ASSERT_TRUE(left->commit(always));
    EXPECT_EQ(get(*tree_, "/a"), "LLL3456RRR");
}

TEST_F(TreeTest, AsksBeforeARegionIsCopiedAndAgainAtTheCommit) {
    ASSERT_TRUE(put(*tree_, "/a", "0123456789"));
    std::vector<std::string> asked;
    const auto note = [&](const char* name, bool answer) {
        return [&asked, name, answer](const FileInfo*) {
            asked.emplace_back(name);
            return answer;
        };
    };
    const auto commit = [&](const CommitCheck& check, const CommitCheck& before_copy) {
        auto upload = tree_->begin_upload({.path = path_of("/a"), .region_start = 4});
        EXPECT_TRUE(upload && upload->append("xy"));
        return fault_of(upload->commit(check, before_copy));
    };
    EXPECT_EQ(commit(note("commit", true), note("copy", false)), Fault::refused);
    EXPECT_EQ(asked, (std::vector<std::string>{"copy"}));
    EXPECT_EQ(commit(note("commit", false), note("copy", true)), Fault::refused);
    EXPECT_EQ(asked, (std::vector<std::string>{"copy", "copy", "commit"}));
    EXPECT_EQ(get(*tree_, "/a"), "0123456789");
    EXPECT_EQ(commit(note("commit", true), note("copy", true)), std::nullopt);
    EXPECT_EQ(get(*tree_, "/a"), "0123xy6789");
}

TEST_F(TreeTest, WritesRegionsOfLargeFiles) {
    std::string content(3'000'000, 'a');
    for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 / 7);
    ASSERT_TRUE(put(*tree_, "/a", content));
    const std::string region(1'234'567, 'R');
    const auto done = patch(*tree_, "/a", 765'433, region);
    ASSERT_TRUE(done);
    content.replace(765'433, region.size(), region);
    EXPECT_EQ(done->info.hash, base::sha256_hex(content));
    EXPECT_EQ(get(*tree_, "/a"), content);
}

}  // namespace
}  // namespace holdfast::files::testing
