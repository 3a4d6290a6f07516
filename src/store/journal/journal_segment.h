#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/text/text_arena.h"
#include "store/tables/lease_row.h"

namespace holdfast::store {

// Some changes that follow one another in the journal, in memory. It stays where it is.
struct JournalSegment {
    // A lease as it stood after a change.
    struct Lease {
        LeaseRowView row;
        bool is_last_word = true;  // nothing was said of it since
    };
    // A lease that has ended.
    struct End {
        std::uint64_t fence = 0;
        bool is_in_locks = false;  // there is a row of it, which must go
    };
    // What is in the file already, and the last row of the journal with any of it.
    struct Written {
        std::size_t leases = 0, ends = 0;
        std::int64_t row_number = 0;
    };

    std::vector<Lease> leases;
    std::vector<End> ends;
    Written written;
    base::TextArena texts;  // of the leases

    [[nodiscard]] std::size_t size() const { return leases.size() + ends.size(); }
    [[nodiscard]] bool is_written() const { return written.leases + written.ends == size(); }

    // Appends a lease, with texts of its own.
    void add(LeaseRowView row) {
        for (std::string_view* const text :
             {&row.name, &row.owner, &row.request_id, &row.metadata}) {
            *text = texts.keep(*text);
        }
        leases.push_back({.row = row});
    }
};

}  // namespace holdfast::store
