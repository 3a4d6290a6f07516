#pragma once

// LockBoard: the holders and waiters of all locks, kept up to date by events.
//
// It starts from a listing. If the stream of events was opened before the listing was made, some of
// its events are older than the listing. Applying them again does no harm: a lease is known by its
// fencing number, and events come in order.
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
    // By kind and name. The ranges of an inode belong to the row of the inode.
    using Locks = std::map<std::pair<std::string, std::string>, LockRow>;

    void replace(std::vector<LockRow> locks);
    // Applies one event of /v1/events.
    void apply(std::string_view kind, const base::JsonValue& data);

    [[nodiscard]] const Locks& locks() const { return locks_; }
    [[nodiscard]] std::uint64_t held() const;
    [[nodiscard]] std::uint64_t waiting() const;

  private:
    LockRow& find_or_add(const std::string& kind, const std::string& name);

    Locks locks_;
};

}  // namespace holdfast::cli
