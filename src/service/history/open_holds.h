#pragma once

// OpenHolds: what the grants of the leases that live say of their holds (HoldBegin), for a store that
// writes a row when a hold has ended. Most clients have many leases, so each `by` is kept once.
//
// Thread safety: none.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/containers/growing_map.h"
#include "service/history/hold.h"

namespace holdfast::service {

class OpenHolds {
  public:
    // The lease with this number was granted. A hold that began as usual takes no memory.
    void begin(std::uint64_t fence, const HoldBegin& begin) {
        if (begin.is_usual()) return;
        Begin& known = begins_[fence];
        drop(known.by);
        known = {.waited = begin.waited, .by = take(begin.by)};
    }
    // Good until the next change.
    [[nodiscard]] HoldBegin find(std::uint64_t fence) const {
        const Begin* const found = begins_.find(fence);
        if (found == nullptr) return {};
        const Name* const by = found->by;
        return {.waited = found->waited,
                .by = by == nullptr ? std::string_view() : std::string_view(by->first)};
    }
    void end(std::uint64_t fence) {
        const Begin* const found = begins_.find(fence);
        if (found == nullptr) return;
        drop(found->by);
        begins_.erase(fence);
    }
    void clear() {
        begins_.clear();
        names_.clear();
        last_ = nullptr;
    }

    [[nodiscard]] std::size_t size() const { return begins_.size(); }
    // How many different names there are.
    [[nodiscard]] std::size_t name_count() const { return names_.size(); }

  private:
    using Names = std::map<std::string, std::size_t, std::less<>>;  // how many leases have the name
    using Name = Names::value_type;
    struct Begin {
        core::Duration waited{0};
        Name* by = nullptr;
    };

    // Most grants are asked for by the client of the grant before, so its name is kept in any case.
    [[nodiscard]] Name* take(std::string_view by) {
        if (by.empty()) return nullptr;
        if (last_ == nullptr || last_->first != by) {
            auto found = names_.find(by);
            if (found == names_.end()) found = names_.emplace(std::string(by), 0).first;
            Name* const before = last_;
            last_ = &*found;
            if (before != nullptr && before->second == 0) names_.erase(names_.find(before->first));
        }
        ++last_->second;
        return last_;
    }
    void drop(Name* name) {
        if (name == nullptr || --name->second > 0 || name == last_) return;
        names_.erase(names_.find(name->first));
    }

    core::GrowingMap<std::uint64_t, Begin> begins_;  // by fencing number
    Names names_;
    Name* last_ = nullptr;
};

}  // namespace holdfast::service
