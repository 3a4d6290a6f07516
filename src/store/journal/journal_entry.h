#pragma once

// An entry of the journal: what one commit leaves behind, as bytes.
//
//     0                   only if the entry tells of holds or waits; twice if it also has names
//     start number        of the run of the server that wrote it
//     last token          the largest fencing number that the commit gave out or reserved, or 0
//     elements            until the bytes end
//
// An element begins with a number that says what it is:
//
//     0                   a lease has ended: its fencing number
//     1                   a fence: the resource, the largest number (0: the fence was removed)
//     2                   a hold has ended: fencing number, when (microseconds since 1970), and how
//     3                   how long the holder of a new lease waited: fencing number, microseconds
//     4 + bits            a lease is new or has other terms. Bit 0: it is new. The others say which
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
// An entry without holds and waits has no such elements, and for a lease it has 2 + bits. That is how
// all entries look without a history, and those of versions that had none.
//
// In an entry with names, each lease and each hold that has ended is followed by who asked for it: 0 if
// that is not known, n for the nth name of the entry, and the number of names so far plus one, and a
// text, for a new name. Older versions had no names, and leases and holds of nobody need none.
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
#include "service/history/hold.h"
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
    // A hold that has ended, with its lease or before it. The rest of the row is that of the lease.
    struct EndedHold {
        std::uint64_t fence = 0;
        service::WallTime at;
        service::Ending ending = service::Ending::released;
        std::string_view by = {};

        bool operator==(const EndedHold&) const = default;
    };
    struct Wait {
        std::uint64_t fence = 0;
        core::Duration waited{0};  // never zero

        bool operator==(const Wait&) const = default;
    };

    std::int64_t start_number = 0;
    std::uint64_t last_token = 0;
    std::vector<Put> puts;
    std::vector<std::uint64_t> ends;
    std::vector<EndedHold> holds = {};
    std::vector<Wait> waits = {};
    std::vector<Mark> marks;

    // Replaces the entry by what the commit says. The texts are those of the commit. `epoch` is what
    // the wall clock showed at the engine's time zero. `has_history`: with holds and waits.
    void set(const service::CommitEffect& effect, service::WallTime epoch, std::int64_t start,
             bool has_history);

    // Whether it is known who asked for one of the leases or ends.
    [[nodiscard]] bool has_names() const;

    bool operator==(const JournalEntry&) const = default;
};

// The bytes of the entry. They are in `memory`, which is made larger if necessary.
[[nodiscard]] std::string_view write_entry(const JournalEntry& entry, std::string& memory);

// Reads an entry; its texts are parts of `bytes`. No value if no server can have written it.
[[nodiscard]] std::optional<JournalEntry> read_entry(std::string_view bytes);

}  // namespace holdfast::store
