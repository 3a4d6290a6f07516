// Many at one path.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/crypto.h"
#include "files/tree/file_tree.h"
#include "files/tree/test_tree.h"

namespace holdfast::files::testing {
namespace {

// The version that a commit replaced, and its own; the first commit replaced nothing.
struct Step {
    std::string before;
    std::string after;
};

// The steps are one line from nothing to `last`: nothing was replaced twice or left out.
void expect_linear(const std::vector<Step>& steps, const std::string& last) {
    std::map<std::string, std::string> next;
    for (const Step& step : steps) {
        EXPECT_TRUE(next.emplace(step.before, step.after).second)
            << "replaced twice " << step.before;
    }
    std::string at;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        ASSERT_TRUE(next.contains(at)) << "nothing follows " << at;
        at = next[at];
    }
    EXPECT_EQ(at, last);
}

TEST_F(TreeTest, OrdersTheCommitsOfAHundredThreads) {
    std::mutex mutex;
    std::vector<Step> steps;
    std::set<std::string> contents;
    std::set<std::uint64_t> inode_numbers;
    std::atomic<bool> is_over = false;
    std::thread reader([&] {
        while (!is_over) {
            const auto file = tree_->open_file(path_of("/shared/a"));
            if (!file) {
                EXPECT_EQ(file.error().fault, Fault::not_found);
                continue;
            }
            EXPECT_EQ(base::sha256_hex(content_of(*file)), file->info.hash);
        }
    });
    run_together(100, [&](int i) {
        const std::string content(static_cast<std::size_t>(1 + i * 997), static_cast<char>(i));
        for (int j = 0; j < 2; ++j) {
            std::string before;
            FileInfo replaced;
            const auto done = put(*tree_, "/shared/a", content, [&](const FileInfo* current) {
                before = current == nullptr ? "" : current->etag();
                replaced = current == nullptr ? FileInfo{} : *current;
                return true;
            });
            const std::lock_guard lock(mutex);
            ASSERT_TRUE(done) << done.error().message;
            EXPECT_GT(done->info.timestamp_ms, replaced.timestamp_ms);
            inode_numbers.insert(done->info.inode_number);
            steps.push_back({.before = before, .after = done->info.etag()});
            contents.insert(content);
        }
    });
    is_over = true;
    reader.join();
    const auto last = tree_->open_file(path_of("/shared/a"));
    ASSERT_TRUE(last);
    EXPECT_TRUE(contents.contains(content_of(*last)));
    ASSERT_EQ(steps.size(), 200U);
    EXPECT_EQ(inode_numbers.size(), 1U);
    expect_linear(steps, last->info.etag());
    EXPECT_EQ(count_temporary_files(), 0U);

    // The listener heard of them in the same order.
    std::vector<Step> told;
    std::string before;
    for (const Change& change : changes_) {
        if (change.kind != Change::Kind::file_put) continue;
        told.push_back({.before = before, .after = change.etag});
        before = change.etag;
    }
    const auto as_pairs = [](const std::vector<Step>& from) {
        std::set<std::pair<std::string, std::string>> pairs;
        for (const Step& step : from) pairs.emplace(step.before, step.after);
        return pairs;
    };
    EXPECT_EQ(as_pairs(told), as_pairs(steps));
}

TEST_F(TreeTest, LosesNoRegionOfMany) {
    constexpr std::size_t count = 16;
    constexpr std::size_t width = 1'000;
    ASSERT_TRUE(put(*tree_, "/a", std::string(count * width, '-')));
    run_together(count, [&](int thread) {
        const auto i = static_cast<std::size_t>(thread);
        for (int round = 0; round < 3; ++round) {
            const std::string region(width, static_cast<char>('a' + i));
            EXPECT_TRUE(patch(*tree_, "/a", i * width, region));
        }
    });
    std::string expected;
    for (std::size_t i = 0; i < count; ++i) expected.append(width, static_cast<char>('a' + i));
    EXPECT_EQ(get(*tree_, "/a"), expected);
}

// Files are put into directories that others keep removing.
TEST_F(TreeTest, BearsDirectoriesThatComeAndGo) {
    std::atomic<bool> is_over = false;
    std::thread remover([&] {
        while (!is_over) {
            (void)tree_->remove_directory(path_of("/a/b"));
            (void)tree_->remove_directory(path_of("/a"));
        }
    });
    run_together(4, [&](int i) {
        const std::string path = "/a/b/" + std::to_string(i);
        for (int j = 0; j < 40; ++j) {
            const auto done = put(*tree_, path, "x");
            ASSERT_TRUE(done) << done.error().message;
            EXPECT_TRUE(done->is_new);
            EXPECT_EQ(get(*tree_, path), "x");
            ASSERT_TRUE(tree_->remove_file(path_of(path), always));
        }
    });
    is_over = true;
    remover.join();
}

TEST_F(TreeTest, IsNotPassedItsQuotaByManyTogether) {
    open({.quota_bytes = 10'000});
    std::atomic<int> landed = 0;
    run_together(20, [&](int i) {
        auto upload = tree_->begin_upload({.path = path_of("/" + std::to_string(i))});
        ASSERT_TRUE(upload);
        for (int piece = 0; piece < 10; ++piece) {
            if (!upload->append(std::string(100, 'x'))) return;
        }
        landed += upload->commit(always) ? 1 : 0;
    });
    EXPECT_LE(landed, 10);
    EXPECT_EQ(tree_->used_bytes(), static_cast<std::uint64_t>(landed) * 1'000);
    for (int i = landed; i < 10; ++i) {  // nothing is left set aside
        EXPECT_TRUE(put(*tree_, "/more" + std::to_string(i), std::string(1'000, 'y')));
    }
    EXPECT_EQ(fault_of(put(*tree_, "/last", "y")), Fault::over_quota);
}

}  // namespace
}  // namespace holdfast::files::testing
