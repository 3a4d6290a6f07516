#pragma once

// All that has come of a process, wherever it went: children, theirs, and what was orphaned on the
// way and given to us to look after (PR_SET_CHILD_SUBREAPER).

#include <sys/types.h>

#include <optional>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// The parent of a process, by the text of its /proc/<pid>/stat. The name in there is the process's
// own choice, and may hold anything.
[[nodiscard]] std::optional<pid_t> parse_parent(std::string_view stat);

// Every process below `root`, which is not among them; the dead that nobody has reaped are. Empty
// where there is no /proc.
[[nodiscard]] std::vector<pid_t> find_descendants(pid_t root);

// Sends the signal to the process group (none, if 0), and to whatever else is below this process.
void signal_descendants(pid_t group, int signal);

// From now on the orphans below this process become its children.
void adopt_orphans();

}  // namespace holdfast::cli
