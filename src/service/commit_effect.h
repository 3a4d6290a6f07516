#pragma once

// CommitEffect: what a commit leaves behind in a store, as data.
//
// A commit lists its changes one after the other. A store needs only their sum:
//
//     puts        the leases that the store must write, as they stand after the commit
//     ends        the leases that the store must remove
//     holds       the holds that have ended: a row of the history for each (history/hold.h)
//     last_fence, reserved_fence
//                 the fencing numbers that must never be given out again
//     fences      the marks of outside resources
//
// The rules:
//
//     granted                         a put
//     renewed on other terms,         a put; of several changes to a lease the last one counts
//     another value
//     expired, with grace             a put: the lease is in grace; the hold has ended
//     released, expired               an end of the lease and of the hold
//     grace over                      an end: the hold has ended before
//     granted and ended               nothing: no client was told of the lease, so no store has it.
//                                     last_fence still counts its number.
//     anything else, and whatever concerns a transient lease
//                                     nothing (core::is_kept)
//
// So a lease occurs at most once, in the puts or in the ends.
//
// Thread safety: none. Lifetime: refers to the commit, which must outlive this and stay as it is.
// Memory is reused: keep one object and call compute() for every commit.

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/values/changes.h"
#include "service/store.h"

namespace holdfast::service {

class CommitEffect {
  public:
    // A lease to write. `change` is the last one that the commit has of it: the whole lease.
    struct Put {
        const core::Event* change = nullptr;
        bool is_new = false;       // granted in this commit: the store has nothing of the lease yet
        core::Duration waited{0};  // is_new: how long the holder waited for the grant
        std::string_view by = {};  // who has asked for the lease; empty: it is not known here
        std::optional<std::size_t> hold = {};  // its place in holds(), while that is computed

        [[nodiscard]] bool is_in_grace() const { return change->kind == core::EventKind::expired; }
    };

    // Replaces what was computed before.
    void compute(const Commit& commit);

    [[nodiscard]] const std::vector<Put>& puts() const { return puts_; }
    // The last change of each lease that has ended. The store has the lease from an earlier commit.
    [[nodiscard]] const std::vector<const core::Event*>& ends() const { return ends_; }
    // The change that ended the hold, of each hold that has ended and of which the store knows, or
    // learns in this commit.
    [[nodiscard]] const std::vector<const core::Event*>& holds() const { return holds_; }
    // At most one mark for each resource.
    [[nodiscard]] const std::vector<FenceMark>& fences() const { return commit_->fences; }
    // The largest fencing number among the changes that survive a restart. Zero: there is none.
    [[nodiscard]] std::uint64_t last_fence() const { return last_fence_; }
    // The number up to which the commit reserves all. Zero: it reserves nothing.
    [[nodiscard]] std::uint64_t reserved_fence() const { return commit_->reserved_fence; }

    // Whether a store has nothing to write.
    // REQUIRES, as all of the above: compute() was called.
    [[nodiscard]] bool empty() const {
        return last_fence_ == 0 && fences().empty() && reserved_fence() == 0;
    }

  private:
    // Where in puts_ a lease is.
    struct Place {
        std::uint64_t fence = 0;
        std::size_t index = 0;
    };

    void clear();
    void add(const core::Event& change);
    void add_grant(std::uint64_t fence, const core::Event& change);
    void add_end(std::uint64_t fence, const core::Event& change);
    [[nodiscard]] Put* find_put(std::uint64_t fence);

    const Commit* commit_ = nullptr;
    std::vector<Put> puts_;
    std::vector<const core::Event*> ends_;
    std::vector<const core::Event*> holds_;
    std::uint64_t last_fence_ = 0;

    // Fencing numbers grow with every grant, so grants are found by binary search. The table is for
    // other puts; a usual commit has none, and then nothing is looked up in it.
    std::vector<Place> grants_;  // in the order of their numbers
    boost::unordered_flat_map<std::uint64_t, std::size_t> other_puts_;
    bool has_cancelled_puts_ = false;  // some of puts_ have no change any more
};

}  // namespace holdfast::service
