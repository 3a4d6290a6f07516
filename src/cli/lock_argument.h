#pragma once

// A lock as people write it, and as `holdfast ls` prints it: `nightly`, `path:/srv/photos`, `inode:7`,
// `range:7:0-4096`, `semaphore:builders`.

#include <string>
#include <vector>

#include "cli/screen/lock_rows.h"
#include "cli/server.h"
#include "holdfast/lock_scope.h"

namespace holdfast::cli {

// What the text means, or why it means nothing.
[[nodiscard]] Asked<LockScope> read_scope(const std::string& text);

// The target of a request for the lock with its queue. A name without a kind may be a lock or a
// semaphore.
[[nodiscard]] Asked<std::string> shown_lock_target(const std::string& text);

// The lock with its queue, as the server shows it. Of the parts of an inode only those that overlap
// the range, if `text` is one.
[[nodiscard]] Asked<LockRow> look_at(Server& server, const std::string& text);

// What the locks are called that begin with this text; for completion. Quick: a server that does
// not answer at once has none.
[[nodiscard]] std::vector<std::string> find_locks(const ServerOptions& options,
                                                  const std::string& beginning);

}  // namespace holdfast::cli
