#pragma once

// The processes that come of a command, and the terminal that they share.

#include <sys/types.h>
#include <termios.h>

#include <optional>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// The parent of a process, from the text of its /proc/<pid>/stat. The name in that text is chosen by
// the process and may contain anything.
[[nodiscard]] std::optional<pid_t> parse_parent(std::string_view stat);

// All descendants of `root`, also those that have ended and are not reaped yet. Empty if there is no
// /proc.
[[nodiscard]] std::vector<pid_t> find_descendants(pid_t root);

// Sends the signal to the process group (none if 0) and to all other descendants of this process.
void signal_descendants(pid_t group, int signal);

// From now on, descendants of this process whose parent ends become its children.
void adopt_orphans();

// ControllingTerminal: decides which process group of our session may read from the terminal and
// gets its Ctrl-C.
//
// A terminal belongs to a session, and one process group of the session is in the foreground. Shells
// put a job there; we put the command there, and take the terminal back afterwards.
//
// REQUIRES: SIGTTOU is blocked in the caller; else the kernel would stop it when it calls from the
// background. Thread safety: none.
class ControllingTerminal {
  public:
    // The terminal of this process, if it has one. Closed on exec.
    ControllingTerminal();
    ~ControllingTerminal();
    ControllingTerminal(const ControllingTerminal&) = delete;
    ControllingTerminal& operator=(const ControllingTerminal&) = delete;

    // Whether `group` is in the foreground. False without a terminal.
    [[nodiscard]] bool is_foreground(pid_t group) const;
    void put_in_foreground(pid_t group) const;

    // Sets the modes that the terminal had at first: a killed program leaves its own behind.
    void restore_modes() const;

  private:
    int descriptor_;
    bool has_modes_ = false;
    termios modes_{};
};

}  // namespace holdfast::cli
