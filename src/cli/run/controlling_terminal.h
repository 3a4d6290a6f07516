#pragma once

// ControllingTerminal: who of our session may read from the terminal and gets its Ctrl-C.
//
// A terminal belongs to a session, and one process group of it is in the foreground. Shells put a
// job there; we put the command there that we run, and take the terminal back afterwards.
//
// REQUIRES: SIGTTOU is blocked in whoever calls; else the kernel would stop it for asking from the
// background. Thread safety: none.

#include <sys/types.h>
#include <termios.h>

namespace holdfast::cli {

class ControllingTerminal {
  public:
    // That of this process, if it has one; closed on exec.
    ControllingTerminal();
    ~ControllingTerminal();
    ControllingTerminal(const ControllingTerminal&) = delete;
    ControllingTerminal& operator=(const ControllingTerminal&) = delete;

    // Whether `group` is in the foreground. Never, without a terminal.
    [[nodiscard]] bool is_foreground(pid_t group) const;
    void put_in_foreground(pid_t group) const;

    // As it was found: a program that was killed cannot tidy up after itself.
    void restore_modes() const;

  private:
    int descriptor_;
    bool has_modes_ = false;
    termios modes_{};
};

}  // namespace holdfast::cli
