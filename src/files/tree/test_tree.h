#pragma once

// Shared by the tests of the file store: a temporary folder, a tree in it, and short ways to
// write and read.

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "files/tree/file_tree.h"
#include "service/ports/clock.h"

namespace holdfast::files::testing {

using namespace std::chrono_literals;

class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string name = "/tmp/holdfast-files-XXXXXX";
        CHECK(mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] std::string operator/(const std::string& name) const { return path_ / name; }

  private:
    std::filesystem::path path_;
};

inline void write_foreign_file(const std::string& path, std::string_view content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

inline FilePath path_of(std::string_view text) {
    auto path = FilePath::parse(text);
    CHECK(path);
    return std::move(*path);
}

inline bool always(const FileInfo*) {
    return true;
}

inline std::string content_of(const OpenFile& file) {
    std::string content;
    CHECK(read_pieces(file.descriptor.get(), [&](std::string_view piece) { content += piece; }));
    return content;
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): as in a request, first the path
inline FileResult<Committed> put(FileTree& tree, std::string_view path, std::string_view content,
                                 const CommitCheck& check = always) {
    auto upload = tree.begin_upload({.path = path_of(path)});
    if (!upload) return tl::unexpected(upload.error());
    if (auto done = upload->append(content); !done) return tl::unexpected(done.error());
    return upload->commit(check);
}

inline FileResult<Committed> patch(FileTree& tree, std::string_view path, std::uint64_t start,
                                   std::string_view content, const CommitCheck& check = always) {
    auto upload = tree.begin_upload({.path = path_of(path), .region_start = start});
    if (!upload) return tl::unexpected(upload.error());
    if (auto done = upload->append(content); !done) return tl::unexpected(done.error());
    return upload->commit(check);
}

// The content, or the fault.
inline std::string get(FileTree& tree, std::string_view path) {
    const auto file = tree.open_file(path_of(path));
    return file ? content_of(*file) : "(" + file.error().message + ")";
}

// The fault of a result; nothing if it has none.
template <class T>
std::optional<Fault> fault_of(const FileResult<T>& result) {
    if (result) return std::nullopt;
    return result.error().fault;
}

// Runs `work` on `thread_count` threads at the same time; each gets its index, from 0 on.
inline void run_together(int thread_count, const std::function<void(int)>& work) {
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(thread_count));
    for (int i = 0; i < thread_count; ++i) threads.emplace_back([&work, i] { work(i); });
    for (std::thread& thread : threads) thread.join();
}

// A tree in a temporary folder, and the changes that it reported.
class TreeTest : public ::testing::Test {
  protected:
    void SetUp() override { open({}); }

    void open(FileTreeOptions options) {
        tree_.reset();
        options.root = folder_ / "root";
        options.on_change = [this](const Change& change) {
            const std::lock_guard lock(mutex_);
            changes_.push_back(change);
        };
        auto tree = FileTree::open(std::move(options), clock_);
        ASSERT_TRUE(tree) << tree.error().message;
        tree_ = std::move(*tree);
    }

    // Where a path lies for other programs.
    [[nodiscard]] std::string real(const std::string& path) const {
        return folder_ / ("root" + path);
    }
    [[nodiscard]] std::size_t count_temporary_files() const {
        const std::filesystem::directory_iterator files(real("/.holdfast/tmp"));
        return static_cast<std::size_t>(std::distance(begin(files), end(files)));
    }
    std::vector<std::string> take_changes() {
        const std::lock_guard lock(mutex_);
        std::vector<std::string> texts;
        constexpr const char* kinds[] = {"PUT ", "DELETE ", "MKDIR ", "RMDIR "};
        for (const Change& change : changes_) {
            texts.push_back(kinds[static_cast<std::size_t>(change.kind)] + change.path);
        }
        changes_.clear();
        return texts;
    }

    const TemporaryFolder folder_;
    service::ManualClock clock_{service::WallTime{1'736'726'400s}};
    std::mutex mutex_;
    std::vector<Change> changes_;
    std::unique_ptr<FileTree> tree_;
};

}  // namespace holdfast::files::testing
