#pragma once

// LogWriter: writes lines to a descriptor from a thread of its own.
//
// Whoever logs never waits for the reader of the log: a line is put into a queue of limited size,
// and the thread writes what is there. When the reader does not keep up, the queue becomes full and
// further lines are lost. They are counted, and a line that says how many were lost takes their
// place.
//
// Thread safety: every method from any thread.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace holdfast::base {

class LogWriter {
  public:
    struct Options {
        int descriptor;  // is not closed
        std::size_t queue_bytes_max = std::size_t{1024} * 1024;
        // Appends the line, without its end, that says how many lines were lost. Called on the
        // thread of the writer.
        std::function<void(std::string& out, std::uint64_t count)> append_loss;
    };

    explicit LogWriter(Options options);
    // As stop(), with nothing more than what can be written at once.
    ~LogWriter();
    LogWriter(const LogWriter&) = delete;
    LogWriter& operator=(const LogWriter&) = delete;

    // Queues the line; its end is added. The line is lost if the queue is full, or after stop().
    void write(std::string_view line);

    // Waits until everything queued before is written, `patience` at most. Returns whether it is.
    // Does nothing on the thread of the writer.
    bool flush(std::chrono::milliseconds patience);

    // Writes what is queued, for `patience` at most, and ends the thread.
    void stop(std::chrono::milliseconds patience);

  private:
    using Clock = std::chrono::steady_clock;

    void run();
    void append_notice();
    // Empty: there is nothing more to write, and the thread ends.
    [[nodiscard]] std::string take_queue();
    void write_out(std::string_view bytes);
    [[nodiscard]] bool is_given_up();

    const Options options_;
    std::mutex mutex_;
    std::condition_variable has_work_;
    std::condition_variable has_written_;
    std::string queue_;           // guarded by mutex_, as is all that follows
    std::size_t held_bytes_ = 0;  // of queue_, and of what the thread is writing
    std::uint64_t lost_ = 0;      // lines, since the last line that said so
    bool is_idle_ = false;        // the thread waits for work
    bool is_writing_ = false;     // the thread has taken lines and is not done with them
    bool is_stopping_ = false;
    Clock::time_point give_up_at_ = Clock::time_point::max();
    std::thread thread_;
};

}  // namespace holdfast::base
