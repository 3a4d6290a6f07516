// A writer is killed at a random moment: every acknowledged write is there, and no write is there
// by half.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <string>

#include "base/check.h"
#include "base/crypto.h"
#include "files/tree/file_tree.h"
#include "files/tree/test_tree.h"

namespace holdfast::files::testing {
namespace {

constexpr std::uint64_t path_count = 4;
constexpr std::size_t header_size = 20;

std::string path_text(std::uint64_t number) {
    return "/d" + std::to_string(number) + "/file";
}

// The content of version `serial`: its number, then up to a few hundred kilobytes that follow from
// it, so that any mixture of two versions shows.
std::string content_of_version(std::uint64_t serial) {
    std::mt19937_64 random(serial);
    std::string text = std::to_string(serial);
    text.resize(header_size, ' ');
    const std::size_t words = random() % 40'000;
    for (std::size_t i = 0; i < words; ++i) {
        const std::uint64_t word = random();
        text.append(reinterpret_cast<const char*>(&word), sizeof word);
    }
    return text;
}

// An acknowledged write, as it is sent through the pipe.
struct Report {
    std::uint64_t path;
    std::uint64_t serial;
};

// Writes version after version until somebody ends it. Every second one is a region that covers the
// whole file and more, on top of whatever is there.
[[noreturn]] void write_for_ever(const std::string& root, std::uint64_t first_serial, int pipe) {
    service::SystemClock clock;
    const auto tree = FileTree::open({.root = root, .quota_bytes = 1'000'000'000}, clock);
    CHECK(tree);
    for (std::uint64_t serial = first_serial;; ++serial) {
        const Report report{.path = serial % path_count, .serial = serial};
        const std::string path = path_text(report.path);
        const std::string content = content_of_version(serial);
        const auto size = (*tree)->open_file(path_of(path));
        const bool as_region =
            serial / path_count % 2 == 1 && size && size->info.size_bytes <= content.size();
        const auto done = as_region ? patch(**tree, path, 0, content) : put(**tree, path, content);
        CHECK(done);
        CHECK(write(pipe, &report, sizeof report) == sizeof report);
    }
}

class CrashTest : public ::testing::Test {
  protected:
    // Lets a writer write for a while; returns the last version of each path it was told is there.
    void run_writer(std::chrono::microseconds time) {
        std::array<int, 2> ends{};
        ASSERT_EQ(::pipe(ends.data()), 0);
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            ::close(ends[0]);
            write_for_ever(folder_ / "root", next_serial_, ends[1]);
        }
        ::close(ends[1]);
        ::usleep(static_cast<useconds_t>(time.count()));
        ASSERT_EQ(::kill(child, SIGKILL), 0);
        ASSERT_EQ(::waitpid(child, nullptr, 0), child);
        Report report{};
        while (::read(ends[0], &report, sizeof report) == sizeof report) {
            acknowledged_[report.path] = report.serial;
            next_serial_ = report.serial + 1;
            ++reports_;
        }
        ::close(ends[0]);
        // One more write may have been committed without being acknowledged.
        ++next_serial_;
    }

    void expect_whole() {
        auto tree = FileTree::open({.root = folder_ / "root"}, clock_);
        ASSERT_TRUE(tree) << tree.error().message;
        EXPECT_TRUE(std::filesystem::is_empty(folder_ / "root/.holdfast/tmp"));
        for (std::uint64_t path = 0; path < path_count; ++path) {
            const auto file = (*tree)->open_file(path_of(path_text(path)));
            if (!file) {
                EXPECT_EQ(file.error().fault, Fault::not_found);
                EXPECT_FALSE(acknowledged_.contains(path)) << path;
                continue;
            }
            const std::string content = content_of(*file);
            ASSERT_GE(content.size(), header_size);
            const std::uint64_t serial = std::stoull(content.substr(0, header_size));
            EXPECT_TRUE(content == content_of_version(serial)) << "torn: version " << serial;
            EXPECT_EQ(file->info.hash, base::sha256_hex(content));
            EXPECT_GE(serial, acknowledged_[path]);
            EXPECT_LT(serial, next_serial_);
            check_number(path, file->info.inode_number);
        }
        const auto page = (*tree)->list(path_of("/"), {});
        ASSERT_TRUE(page);
        EXPECT_LE(page->entries.size(), 2 * path_count);
    }

    void check_number(std::uint64_t path, std::uint64_t inode_number) {
        const auto [known, is_new] = numbers_.emplace(path, inode_number);
        EXPECT_EQ(known->second, inode_number);
        if (!is_new) return;
        for (const auto& [other, number] : numbers_) {
            EXPECT_TRUE(other == path || number != inode_number);
        }
    }

    const TemporaryFolder folder_;
    service::SystemClock clock_;
    std::uint64_t next_serial_ = 1;
    std::size_t reports_ = 0;
    std::map<std::uint64_t, std::uint64_t> acknowledged_;
    std::map<std::uint64_t, std::uint64_t> numbers_;
};

TEST_F(CrashTest, LeavesTheOldVersionOrTheNewOneWhole) {
    std::mt19937_64 random(std::random_device{}());
    // As often as it takes, on any machine, to have been killed often and to have written much; on
    // a slow one the writer is given more time from round to round.
    for (std::uint64_t round = 0; round < 40 || reports_ < 40; ++round) {
        ASSERT_LT(round, 400U);
        run_writer(std::chrono::microseconds(500 + random() % (60'000 + 3'000 * round)));
        expect_whole();
        if (HasFailure()) return;
    }
}

}  // namespace
}  // namespace holdfast::files::testing
