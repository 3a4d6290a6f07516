#pragma once

// WrittenLeases: what etcd has of each lease, as a hash.
//
// A lease that is renewed for the first time after a change of leader is a change that the service
// wants written, but its record is the same as before. Without this, every lease would be written
// again after each change of leader, and an etcd that is full would let nobody renew.
//
// Thread safety: none.

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/containers/growing_map.h"

namespace holdfast::cluster {

class WrittenLeases {
  public:
    // Whether the lease has a record like `text` already. If not, from now on it has.
    [[nodiscard]] bool is_known(std::uint64_t fence, std::string_view text) {
        const std::uint64_t hash = hash_of(text);
        const std::uint64_t* const known = hashes_.find(fence);
        if (known != nullptr && *known == hash) return true;
        hashes_[fence] = hash;
        return false;
    }
    void forget(std::uint64_t fence) { hashes_.erase(fence); }
    void clear() { hashes_.clear(); }
    [[nodiscard]] std::size_t size() const { return hashes_.size(); }

  private:
    // Of all but the last two fields. The version grows with every renewal, written or not; the time
    // of the grant is computed from two clocks, and not the same each time. (Inside a JSON string
    // quotation marks are escaped, so nothing else looks like this.)
    static std::uint64_t hash_of(std::string_view text) {
        return std::hash<std::string_view>{}(text.substr(0, text.rfind(",\"version\":")));
    }

    core::GrowingMap<std::uint64_t, std::uint64_t> hashes_;
};

}  // namespace holdfast::cluster
