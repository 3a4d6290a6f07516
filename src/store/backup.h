#pragma once

// What is done to a database beside the server: copies, restoring one, and folding its journal.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace holdfast::store {

// Copies everything that is committed at this moment to a new file at `copy_path`, and makes the
// file and its name durable. The server that has the database, in this process or another, goes on
// meanwhile. Fails, and changes nothing, if there is a file with that name. Waits for disks.
[[nodiscard]] base::Result<void> back_up(const std::string& database_path,
                                         const std::string& copy_path);

// What a restored database holds.
struct Restored {
    std::size_t leases = 0;
    std::size_t fences = 0;
    std::uint64_t next_token = 0;
    std::string replaced;  // the new path of the database that was replaced; empty: there was none
    // Why the numbers of the replaced database could not be read; empty: they were read, or there was
    // no database.
    std::string replaced_problem;
};

struct RestoreOptions {
    std::string copy_path;
    std::string database_path;
    // The numbers up to this one count as given out, whatever the copy says.
    std::uint64_t token_floor = 0;
    bool may_replace = false;
};

// Puts a copy where a server will look for its database. Fencing numbers do not go back: the next
// number is larger than those of the copy, of the replaced database, and the floor. A fence has the
// larger of the numbers in the copy and in the replaced database. Leases get their whole time again
// when the server starts.
//
// All or nothing: the old database stays in its place until the new one is completely on disk. After
// that the old one is kept beside it. Fails if a server is running, if the copy is not ours or is
// damaged, and if there is a database that may not be replaced.
[[nodiscard]] base::Result<Restored> restore(const RestoreOptions& options);

// Brings everything that the journal says into the database, so that programs that read the file find
// all leases there. Fails if a server is running, and if the database or its journal cannot be used.
[[nodiscard]] base::Result<void> fold_database(const std::string& database_path);

}  // namespace holdfast::store
