#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace holdfast::doors::hengdang {

enum class FileOperation : std::uint8_t {
    put,
    patch,
    get,
    list,
    remove,
    make_directory,
    remove_directory,
    lock,
    session,
    events,
    other,
};
inline constexpr FileOperation last_file_operation = FileOperation::other;

[[nodiscard]] std::string_view to_text(FileOperation operation);

// What the file door has done since it was opened, and how much it has now.
struct FileFigures {
    std::map<std::pair<FileOperation, int>, std::uint64_t> answers;  // by operation and status
    std::uint64_t received_bytes = 0;                                // in bodies of uploads
    std::uint64_t sent_bytes = 0;                                    // of the contents of files
    std::size_t sessions = 0;
    std::uint64_t quota_bytes = 0;  // 0: no quota
    std::optional<std::uint64_t> used_bytes;
};

// FileCounts: does the counting for FileFigures. Thread safety: any thread.
class FileCounts {
  public:
    void count_answer(FileOperation operation, int status) {
        const std::lock_guard lock(mutex_);
        ++figures_.answers[{operation, status}];
    }
    void count_received(std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        figures_.received_bytes += bytes;
    }
    void count_sent(std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        figures_.sent_bytes += bytes;
    }
    [[nodiscard]] FileFigures so_far() const {
        const std::lock_guard lock(mutex_);
        return figures_;
    }

  private:
    mutable std::mutex mutex_;
    FileFigures figures_;
};

}  // namespace holdfast::doors::hengdang
