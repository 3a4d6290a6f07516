#pragma once

// Copies of the database, and how one takes its place again.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace holdfast::store {

// Writes what is committed at this moment to a new file at `copy_path`, and makes it durable, its
// name in its folder included. The server that has the database goes on meanwhile, in this process
// or another. Fails, and leaves nothing, when there is a file of that name. Waits for disks.
[[nodiscard]] base::Result<void> back_up(const std::string& database_path,
                                         const std::string& copy_path);

// What a restored database holds.
struct Restored {
    std::size_t leases = 0;
    std::size_t fences = 0;
    std::uint64_t next_token = 0;
    std::string replaced;  // where the database that was there before is now; empty: there was none
    // Why it could not be asked which numbers it had given out; empty: it was, or there was none.
    std::string replaced_problem;
};

struct RestoreOptions {
    std::string copy_path;
    std::string database_path;
    // Numbers below this one count as given out, whatever the copy says.
    std::uint64_t token_floor = 0;
    bool may_replace = false;
};

// Puts a copy where a server will look for its database. Fencing numbers do not go back: they go on
// above those of the copy, of the database that is replaced, and the floor; and a fence has the
// higher of the numbers that the two have seen. Leases begin their time anew when the server
// starts.
//
// All or nothing: what was there before stays there until the new database is on disk whole, and is
// kept beside it after that. Fails when a server is running, when the copy is none of ours or is
// damaged, and when there is a database already, unless that may be replaced.
[[nodiscard]] base::Result<Restored> restore(const RestoreOptions& options);

}  // namespace holdfast::store
