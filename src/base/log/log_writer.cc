#include "base/log/log_writer.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace holdfast::base {

namespace {

// A descriptor that is ready takes at least this much without making the writer wait: POSIX
// promises it for pipes. So the thread can always be ended.
constexpr std::size_t piece_bytes_max = 4096;

// How often a thread that waits for the reader looks whether it should give up.
constexpr int look_ms = 20;

}  // namespace

LogWriter::LogWriter(Options options) : options_(std::move(options)), thread_([this] { run(); }) {}

LogWriter::~LogWriter() {
    stop(std::chrono::milliseconds::zero());
}

void LogWriter::write(std::string_view line) {
    const std::lock_guard lock(mutex_);
    if (is_stopping_ || held_bytes_ + line.size() + 1 > options_.queue_bytes_max) {
        ++lost_;
        return;
    }
    if (lost_ > 0) append_notice();  // they were lost before this line
    queue_.append(line).push_back('\n');
    held_bytes_ += line.size() + 1;
    if (std::exchange(is_idle_, false)) has_work_.notify_one();
}

bool LogWriter::flush(std::chrono::milliseconds patience) {
    if (std::this_thread::get_id() == thread_.get_id()) return false;
    std::unique_lock lock(mutex_);
    return has_written_.wait_for(lock, patience,
                                 [this] { return queue_.empty() && lost_ == 0 && !is_writing_; });
}

void LogWriter::stop(std::chrono::milliseconds patience) {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
        give_up_at_ = std::min(give_up_at_, Clock::now() + patience);
        has_work_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
}

void LogWriter::run() {
    while (true) {
        const std::string bytes = take_queue();
        if (bytes.empty()) return;
        write_out(bytes);
        const std::lock_guard lock(mutex_);
        held_bytes_ = queue_.size();
        is_writing_ = false;
        if (queue_.empty()) has_written_.notify_all();
    }
}

// REQUIRES: mutex_.
void LogWriter::append_notice() {
    const std::size_t before = queue_.size();
    options_.append_loss(queue_, std::exchange(lost_, 0));
    queue_.push_back('\n');
    held_bytes_ += queue_.size() - before;
}

// Waits for lines.
std::string LogWriter::take_queue() {
    std::unique_lock lock(mutex_);
    is_idle_ = queue_.empty() && lost_ == 0;
    has_work_.wait(lock, [this] { return !queue_.empty() || lost_ > 0 || is_stopping_; });
    is_idle_ = false;
    if (lost_ > 0) append_notice();
    std::string bytes = std::exchange(queue_, {});
    is_writing_ = !bytes.empty();
    return bytes;
}

// A reader that has gone makes writing fail, and the bytes are lost with it.
void LogWriter::write_out(std::string_view bytes) {
    while (!bytes.empty()) {
        pollfd watched{.fd = options_.descriptor, .events = POLLOUT, .revents = 0};
        const int ready = ::poll(&watched, 1, look_ms);
        if (ready == 0 || (ready < 0 && errno == EINTR)) {
            if (is_given_up()) return;
            continue;
        }
        const ssize_t written =
            ::write(options_.descriptor, bytes.data(), std::min(bytes.size(), piece_bytes_max));
        if (written < 0 && errno != EINTR && errno != EAGAIN) return;
        if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

bool LogWriter::is_given_up() {
    const std::lock_guard lock(mutex_);
    return Clock::now() >= give_up_at_;
}

}  // namespace holdfast::base
