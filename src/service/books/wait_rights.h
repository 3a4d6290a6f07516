#pragma once

// WaitRights: which requests wait only as long as their clients have the right to what they wait for.
//
// A wait may last for days, and the rights of a token may end meanwhile. When rights have changed, the
// service takes the waits without a right from here and ends them (LockService::end_waits_without_right()).
// Waits of clients without limits are not in it.
//
// Thread safety: none.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/values/ids.h"
#include "service/ports/port.h"

namespace holdfast::service {

// The scopes of the locks that the request asks for; none if it asks for no lock. Their names are those
// of the request.
[[nodiscard]] std::vector<core::SetMember> wanted_by(const Request& request);

// The first scope that the client has no right to. No value: it has a right to all of them.
[[nodiscard]] std::optional<core::Scope> find_denied(const core::ScopeFilter& allowed,
                                                     std::span<const core::SetMember> members);

class WaitRights {
  public:
    // A wait whose client has lost the right to it.
    struct Lost {
        core::WaiterId waiter;
        std::string scope;  // the first one that the right is missing on, as text
    };

    // The waiter waits for these scopes, of which there is at least one. Replaces what was kept for it.
    void keep(core::WaiterId waiter, AllowedScopes allowed,
              std::span<const core::SetMember> members);
    // The wait is over, or its client has no limits any more.
    void forget(core::WaiterId waiter) {
        if (!waits_.empty()) waits_.erase(waiter.serial);
    }
    void clear() { waits_.clear(); }

    // Removes the waits without a right, and returns them, the newest first.
    [[nodiscard]] std::vector<Lost> take_lost();

    [[nodiscard]] std::size_t size() const { return waits_.size(); }

  private:
    struct Wait {
        core::WaiterId waiter;
        AllowedScopes allowed;
        std::string members;  // core::set_to_text()
    };

    std::unordered_map<std::uint64_t, Wait> waits_;  // by the serial number of the waiter
};

}  // namespace holdfast::service
