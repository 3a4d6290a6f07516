#pragma once

// What small values in etcd look like: who leads, which nodes are up, and the counter of commits.
//
// All but the counter are JSON. Fields that are not known are ignored, so that nodes of two
// neighbouring versions work side by side.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/view.h"

namespace holdfast::cluster {

// {"node":"a","peer":"10.0.0.1:7000","epoch":3,"since":"2026-01-15T10:30:00.000Z"}
[[nodiscard]] std::string to_text(const Leader& leader);
[[nodiscard]] base::Result<Leader> parse_leader(std::string_view text);

// {"name":"a","peer":"10.0.0.1:7000","version":"1.2.0","started":"2026-01-15T10:30:00.000Z"}
[[nodiscard]] std::string to_text(const Node& node);
[[nodiscard]] base::Result<Node> parse_node(std::string_view text);

// The number of the last commit, and the largest fencing number that was given out or reserved:
// `17 1768473000000000`. Fencing numbers are counted here and never taken from etcd's revisions,
// which go back when etcd is restored from a backup.
struct Counter {
    std::uint64_t number = 0;
    std::uint64_t fence = 0;

    bool operator==(const Counter&) const = default;
};
[[nodiscard]] std::string to_text(const Counter& counter);
[[nodiscard]] base::Result<Counter> parse_counter(std::string_view text);

// The epoch, in decimal digits.
[[nodiscard]] base::Result<std::uint64_t> parse_epoch(std::string_view text);

}  // namespace holdfast::cluster
