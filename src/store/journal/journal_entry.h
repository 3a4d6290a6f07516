#pragma once

// An entry of the journal: what one commit leaves behind, as bytes.
//
//     start number        of the run of the server that wrote it
//     last token          the largest fencing number that the commit gave out or reserved, or 0
//     elements            until the bytes end
//
// An element begins with a number that says what it is:
//
//     0                   a lease has ended: its fencing number
//     1                   a fence: the resource, the largest number (0: the fence was removed)
//     2 + bits            a lease is new or has other terms. Bit 0: it is new. The others say which
//                         of the optional values below differ from their usual value.
//
//     fencing number
//     secret              8 bytes
//     name, owner
//     acquired at         microseconds since 1970
//     ttl                 microseconds; 0: without an end
//     door
//     version
//     optional            memory, grace, request id, metadata, kind, mode, permits, how much later
//                         the lease expires than its TTL says, state, inode, start and end of the
//                         range, set of scopes, value, revision, waiter (the last four came later:
//                         entries of older versions do not have them)
//
// A number takes 7 bits to a byte, the lowest first; the top bit says that more follow. A text is its
// size and its bytes. Of fencing numbers and times only the difference to the one before in the entry
// is written: usually one byte, and two or three.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/commit_effect.h"
#include "store/tables/lease_row.h"

namespace holdfast::store {

struct JournalEntry {
    struct Put {
        LeaseRowView row;
        bool is_new = false;  // no earlier commit knows the lease

        bool operator==(const Put&) const = default;
    };
    struct Mark {
        std::string_view resource;
        std::uint64_t highest = 0;

        bool operator==(const Mark&) const = default;
    };

    std::int64_t start_number = 0;
    std::uint64_t last_token = 0;
    std::vector<Put> puts;
    std::vector<std::uint64_t> ends;
    std::vector<Mark> marks;

    // Replaces the entry by what the commit says. The texts are those of the commit. `epoch` is what
    // the wall clock showed at the engine's time zero.
    void set(const service::CommitEffect& effect, service::WallTime epoch, std::int64_t start);

    bool operator==(const JournalEntry&) const = default;
};

// The bytes of the entry. They are in `memory`, which is made larger if necessary.
[[nodiscard]] std::string_view write_entry(const JournalEntry& entry, std::string& memory);

// Reads an entry; its texts are parts of `bytes`. No value if no server can have written it.
[[nodiscard]] std::optional<JournalEntry> read_entry(std::string_view bytes);

}  // namespace holdfast::store
