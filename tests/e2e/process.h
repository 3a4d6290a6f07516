#pragma once

// Process: a program under test, with its output.
//
// It runs in a process group of its own, and never outlives the object: whatever is left of the
// group is killed and reaped. Every wait fails the test after a minute.

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace holdfast::e2e {

struct Command {
    std::vector<std::string> words;  // the first is looked up in PATH
    // Set in the child; an empty value removes the variable.
    std::map<std::string, std::string> environment = {};
    std::string folder = ".";
};

class Process {
  public:
    explicit Process(const Command& command);
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    // The first line of standard output or error that contains `part`, which is waited for. Empty,
    // and a failed test, if the program ends without it.
    std::string wait_for_output(const std::string& part);
    std::string wait_for_error(const std::string& part);

    [[nodiscard]] pid_t pid() const { return pid_; }
    void signal(int number) const;
    void signal_group(int number) const;

    // Waits for its end. The exit code, or 128 plus the number of the signal that ended it.
    int wait();

    // Everything it has said so far, or, after wait(), ever.
    [[nodiscard]] const std::string& output() const { return output_.text; }
    [[nodiscard]] const std::string& error() const { return error_.text; }

  private:
    struct Stream {
        int descriptor = -1;
        std::string text;
    };
    using TimePoint = std::chrono::steady_clock::time_point;

    bool read_some(TimePoint deadline);
    std::string wait_for(const Stream& stream, const std::string& part);

    pid_t pid_ = -1;
    bool is_reaped_ = false;
    Stream output_;
    Stream error_;
};

// Runs a program to its end.
struct Finished {
    int exit_code;
    std::string output;
    std::string error;
};
[[nodiscard]] Finished run(const Command& command);

}  // namespace holdfast::e2e
