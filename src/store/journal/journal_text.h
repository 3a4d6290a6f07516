#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "store/tables/lease_row.h"

namespace holdfast::store {

// JournalText: how the journal words what a commit changes. A JSON array, one element a lease.
//
// A lease as it stands is an array of the values below, in this order, from which those at the end
// are left out that are as they nearly always are. A lease that has ended is its `below` alone.
// SQLite reads this (the view `journal_leases`), we only write it.
//
//     below       how much smaller its fencing number is than the largest given out so far
//     lease_id lock_name owner_id
//     since_us    how long before the text was written it was acquired
//     ttl_us door version memory_us=0 grace_us=0 request_id="" metadata="" kind="named"
//     mode="exclusive" permits=1
//     later_us=0  how much later it ends than its TTL after it was acquired
//     state="held" inode=0 range_start=0 range_end=-1
//
// The differences are short where the numbers are long; bytes are what a commit costs. Numbers
// without a sign are written as the signed ones with the same bits, as everywhere in the file.
//
// Every grant and release is written here, so that its room is kept, and filled by hand.
class JournalText {
  public:
    // What the differences are to. Rows of the journal have both.
    struct Reference {
        std::uint64_t last_token = 0;
        service::WallTime written_at;
    };

    // Begins a text.
    void begin(const Reference& reference);
    // Whether nothing was added to it.
    [[nodiscard]] bool empty() const { return size_ == 1; }
    // Adds a lease. False, and it is not added, when one of its texts is no plain text: JSON has no
    // way to say it.
    [[nodiscard]] bool add(const LeaseRowView& row);
    // Adds that the lease of this number has ended.
    void add_end(std::uint64_t fence);
    // The whole text, which is good until the next is begun. REQUIRES: it is not empty.
    [[nodiscard]] std::string_view finish();

  private:
    // Where the next element goes, for which there are so many bytes.
    char* make_room(std::size_t bytes);
    void end_element(const char* end);

    Reference reference_;
    std::string room_ = "[";
    std::size_t size_ = 1;  // of what is there: a bracket, and elements with a comma after each
};

}  // namespace holdfast::store
