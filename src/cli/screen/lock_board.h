#pragma once

// LockBoard: who holds and wants what, kept up to date by events.
//
// It starts from a listing. The events of a stream that was opened before the listing was made may
// be older than that: applying them twice, or late, ends in the same state, for a lease is known by
// its number and events come in order.
//
// Thread safety: none.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json/json_value.h"
#include "cli/screen/lock_rows.h"

namespace holdfast::cli {

class LockBoard {
  public:
    // By kind and name; the ranges of an inode are the inode's.
    using Locks = std::map<std::pair<std::string, std::string>, LockRow>;

    void replace(std::vector<LockRow> locks);
    // One event of /v1/events, by its kind and data.
    void apply(std::string_view kind, const base::JsonValue& data);

    [[nodiscard]] const Locks& locks() const { return locks_; }
    [[nodiscard]] std::uint64_t held() const;
    [[nodiscard]] std::uint64_t waiting() const;

  private:
    LockRow& find_or_add(const base::JsonValue& data);

    Locks locks_;
};

}  // namespace holdfast::cli
