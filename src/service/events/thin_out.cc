#include "service/events/thin_out.h"

#include <cstdint>
#include <unordered_set>
#include <vector>

namespace holdfast::service {

namespace {

using core::EventKind;

// Looks at events from the last to the first, and says which can be dropped.
class Thinning {
  public:
    // The first look: which waits and sessions begin here.
    void note_begin(const core::Event& event) {
        if (event.kind == EventKind::queued) begun_waits_.insert(event.waiter.serial);
        if (event.kind == EventKind::session_opened) {
            begun_sessions_.insert(event.lease.session.serial);
        }
    }

    // The second look, backwards.
    bool can_be_dropped(const core::Event& event) {
        const std::uint64_t fence = core::as_number(event.lease.token.fence);
        switch (event.kind) {
            case EventKind::renewed:
                return !followed_leases_.insert(fence).second && !core::is_kept(event);
            case EventKind::released:
            case EventKind::expired: followed_leases_.insert(fence); return false;
            case EventKind::wait_timed_out:
            case EventKind::wait_cancelled:
                return begun_waits_.contains(event.waiter.serial) &&
                       ended_waits_.insert(event.waiter.serial).second;
            case EventKind::queued: return ended_waits_.contains(event.waiter.serial);
            case EventKind::session_ended:
                return begun_sessions_.contains(event.lease.session.serial) &&
                       ended_sessions_.insert(event.lease.session.serial).second;
            case EventKind::session_opened:
                return ended_sessions_.contains(event.lease.session.serial);
            case EventKind::granted:
            case EventKind::value_set:
            case EventKind::grace_ended:
            case EventKind::deadlock: break;
        }
        return false;
    }

  private:
    std::unordered_set<std::uint64_t> followed_leases_;
    std::unordered_set<std::uint64_t> begun_waits_, ended_waits_;
    std::unordered_set<std::uint64_t> begun_sessions_, ended_sessions_;
};

}  // namespace

std::vector<std::size_t> thin_out(core::Changes& changes) {
    Thinning thinning;
    for (const core::Event& event : changes) thinning.note_begin(event);
    std::vector<bool> is_dropped(changes.size());
    for (std::size_t index = changes.size(); index-- > 0;) {
        is_dropped[index] = thinning.can_be_dropped(changes[index]);
    }
    core::Changes left;
    std::vector<std::size_t> new_index;
    new_index.reserve(changes.size() + 1);
    for (std::size_t index = 0; index < changes.size(); ++index) {
        new_index.push_back(left.size());
        if (!is_dropped[index]) left.add(changes[index]);
    }
    new_index.push_back(left.size());
    changes.swap(left);
    return new_index;
}

}  // namespace holdfast::service
