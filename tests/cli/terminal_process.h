#pragma once

// TerminalProcess: a program on a terminal of its own, whose keys the test presses.

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "../e2e/process.h"

namespace holdfast::e2e {

class TerminalProcess {
  public:
    explicit TerminalProcess(const Command& command) {
        const winsize size{.ws_row = 24, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
        pid_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
        if (pid_ == 0) become(command);
        EXPECT_GT(pid_, 0);
    }
    ~TerminalProcess() {
        hang_up();
        if (is_reaped_) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    TerminalProcess(const TerminalProcess&) = delete;
    TerminalProcess& operator=(const TerminalProcess&) = delete;

    void press(std::string_view keys) const {
        EXPECT_EQ(::write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
    }

    // Waits until the terminal shows it, after what was waited for before.
    void wait_for(const std::string& part) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes{1};
        std::size_t at = 0;
        while ((at = text_.find(part, seen_)) == std::string::npos) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << part << " in: " << text_;
            pollfd waiting{.fd = terminal_, .events = POLLIN, .revents = 0};
            if (::poll(&waiting, 1, 1000) == 0) continue;
            std::array<char, 4096> bytes;
            const ssize_t count = ::read(terminal_, bytes.data(), bytes.size());
            ASSERT_GT(count, 0) << "it ended without " << part << " but: " << text_;
            text_.append(bytes.data(), static_cast<std::size_t>(count));
        }
        seen_ = at + part.size();
    }

    // The terminal goes away, as when a connection breaks.
    void hang_up() {
        if (terminal_ >= 0) ::close(std::exchange(terminal_, -1));
    }

    // Waits for its end, and reads what it says meanwhile. As Process::wait().
    int wait() {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes{1};
        int status = 0;
        while (::waitpid(pid_, &status, WNOHANG) == 0) {
            if (std::chrono::steady_clock::now() > deadline) {
                ADD_FAILURE() << "it does not end: " << text_;
                return -1;
            }
            read_some(10);
        }
        is_reaped_ = true;
        while (read_some(0)) {  // what it said last
        }
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }

    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] pid_t pid() const { return pid_; }

  private:
    // Whether anything came.
    bool read_some(int patience_ms) {
        pollfd waiting{.fd = terminal_, .events = POLLIN, .revents = 0};
        if (::poll(&waiting, 1, patience_ms) <= 0) return false;
        std::array<char, 4096> bytes;
        const ssize_t count = ::read(terminal_, bytes.data(), bytes.size());
        if (count > 0) text_.append(bytes.data(), static_cast<std::size_t>(count));
        return count > 0;
    }

    [[noreturn]] static void become(const Command& command) {
        for (const auto& [name, value] : command.environment) {
            ::setenv(name.c_str(), value.c_str(), 1);
        }
        ::setenv("TERM", "xterm", 1);
        ::unsetenv("HOLDFAST_TOKEN_FILE");
        std::vector<char*> words;
        for (const std::string& word : command.words) {
            words.push_back(const_cast<char*>(word.c_str()));
        }
        words.push_back(nullptr);
        ::execvp(words[0], words.data());
        ::_exit(127);
    }

    int terminal_ = -1;
    pid_t pid_ = -1;
    bool is_reaped_ = false;
    std::string text_;
    std::size_t seen_ = 0;
};

}  // namespace holdfast::e2e
