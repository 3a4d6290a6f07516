#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "store/tables/lease_row.h"

namespace holdfast::store {

// JournalText: the text of a row of the journal. A JSON array with one element for each lease.
//
// A lease is an array of the values below, in this order. Values at the end that have their usual
// value (after the `=`) are left out. A lease that has ended is its `below` alone, without an
// array. We only write these texts; SQLite reads them (the view `journal_leases`).
//
//     below           how much smaller its fencing number is than the largest one so far
//     lease_id
//     lock_name
//     owner_id
//     since_us        how long before the text was written the lease was acquired
//     ttl_us
//     door
//     version
//     memory_us=0
//     grace_us=0
//     request_id=""
//     metadata=""
//     kind="named"
//     mode="exclusive"
//     permits=1
//     later_us=0      how much later the lease expires than its TTL after it was acquired
//     state="held"
//     inode=0
//     range_start=0
//     range_end=-1
//
// Differences are shorter than the numbers themselves, and the cost of a commit is in its bytes.
// Numbers without a sign are written as the signed number with the same bits, as everywhere in the
// file.
//
// Every grant and release passes through here. So the memory is reused, and the text is written
// byte by byte instead of by a JSON library.
class JournalText {
  public:
    // The numbers from which the differences are computed. A row of the journal has both.
    struct Reference {
        std::uint64_t last_token = 0;
        service::WallTime written_at;
    };

    // Begins a text.
    void begin(const Reference& reference);
    // Whether nothing was added to it.
    [[nodiscard]] bool empty() const { return size_ == 1; }
    // Adds a lease. False, and nothing is added, if one of its texts is not plain text: JSON cannot
    // express it.
    [[nodiscard]] bool add(const LeaseRowView& row);
    // Adds the end of the lease with this number.
    void add_end(std::uint64_t fence);
    // The whole text, valid until the next begin(). REQUIRES: the text is not empty.
    [[nodiscard]] std::string_view finish();

  private:
    // Memory for the next element, of at least so many bytes.
    char* make_room(std::size_t bytes);
    void end_element(const char* end);

    Reference reference_;
    std::string room_ = "[";
    std::size_t size_ = 1;  // of the text so far: a bracket, and elements with a comma after each
};

}  // namespace holdfast::store
