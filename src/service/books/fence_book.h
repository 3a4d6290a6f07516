#pragma once

// FenceBook: the largest fencing number that each outside resource has seen.
//
// What a lock protects should refuse whoever comes with a smaller number than somebody before. A
// resource that cannot remember numbers (a bucket, a printer, somebody else's program) has its
// clients ask here: the book remembers for it, over restarts.
//
// The book knows which of its marks are on disk: changes collect until begin_commit() takes them,
// and are undoubted after end_commit(). An answer that rests on a mark, be it that a number is
// accepted or that it is stale, waits for the commit of that mark, whoever made it. One that says
// that there is no fence, or no room for one, waits for the commit of every change before it.
//
// Thread safety: none.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/ids.h"
#include "service/books/fence.h"

namespace holdfast::service {

class FenceBook {
  public:
    enum class Keeping : std::uint8_t { durable, in_memory };  // in memory, nothing waits

    FenceBook(FenceLimits limits, Keeping keeping) : limits_(limits), keeping_(keeping) {}

    // Accepts a number that is at least as large as all before it, and remembers it. REQUIRES: it
    // is above zero.
    FenceOutcome raise(std::string_view resource, core::Fence fence);
    [[nodiscard]] FenceOutcome read(std::string_view resource) const;
    // Forgets the resource: the next number is the first it sees.
    FenceOutcome drop(std::string_view resource);

    // A mark that a store remembered. Limits do not matter to what is there already.
    void restore(const FenceMark& mark);

    [[nodiscard]] std::size_t size() const { return marks_.size(); }

    // Whether there is something for the next commit.
    [[nodiscard]] bool has_uncommitted() const { return !uncommitted_.empty(); }
    // A commit begins, with these changes; none before it is under way.
    [[nodiscard]] std::vector<FenceMark> begin_commit();
    // It has succeeded.
    void end_commit() { committed_ = next_commit_ - 1; }
    // A commit has failed: the book is of no use but to be looked at, until another takes its
    // place.
    void forget_uncommitted() { uncommitted_.clear(); }

  private:
    struct Mark {
        std::uint64_t highest = 0;
        std::uint64_t commit = 0;  // the one that makes it durable
    };

    [[nodiscard]] FenceOutcome answer(FenceOutcome::Kind kind, const Mark& mark) const;
    [[nodiscard]] FenceOutcome refuse(FenceOutcome::Kind kind) const;
    void set(std::string_view resource, Mark& mark, std::uint64_t highest);

    FenceLimits limits_;
    Keeping keeping_;
    std::map<std::string, Mark, std::less<>> marks_;
    std::map<std::string, std::uint64_t, std::less<>> uncommitted_;  // zero: dropped
    std::uint64_t committed_ = 0;                                    // the number of a commit
    std::uint64_t next_commit_ = 1;                                  // that of the next to begin
};

}  // namespace holdfast::service
