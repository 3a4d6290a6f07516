#pragma once

// FenceBook: the largest fencing number that each outside resource has seen.
//
// What a lock protects should refuse whoever comes with a smaller number than somebody before. A
// resource that cannot remember numbers (a bucket, a printer, somebody else's program) has its
// clients ask here: the book remembers for it, over restarts.
//
// The book knows which commit makes each of its marks durable. An answer that says what a mark is,
// be it that a number is accepted or that it is stale, rests on the commit of that mark, whoever
// made it. An answer that says that there is no fence, or that the book is full, rests on the
// commit of the last change of the book.
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

    // Accepts a number that is at least as large as all before it, and remembers it. `commit` is
    // the one that will make the change durable. REQUIRES: the number is above zero.
    FenceOutcome raise(std::string_view resource, core::Fence fence, CommitNumber commit);
    [[nodiscard]] FenceOutcome read(std::string_view resource) const;
    // Forgets the resource: the next number is the first it sees.
    FenceOutcome drop(std::string_view resource, CommitNumber commit);

    // A mark that a store remembered. Limits do not matter to what is there already.
    void restore(const FenceMark& mark);

    [[nodiscard]] std::size_t size() const { return marks_.size(); }

    // The changes that take_uncommitted() has not yet returned.
    [[nodiscard]] bool has_uncommitted() const { return !uncommitted_.empty(); }
    [[nodiscard]] std::size_t uncommitted() const { return uncommitted_.size(); }
    // The changes for a commit, each resource once.
    [[nodiscard]] std::vector<FenceMark> take_uncommitted();
    // A commit has failed: another book takes the place of this one before anybody asks again.
    void forget_uncommitted() { uncommitted_.clear(); }

  private:
    struct Mark {
        std::uint64_t highest = 0;
        CommitNumber commit = no_commit;  // the one that makes it durable
    };

    [[nodiscard]] static FenceOutcome answer(FenceOutcome::Kind kind, const Mark& mark);
    [[nodiscard]] FenceOutcome refuse(FenceOutcome::Kind kind) const;
    void set(std::string_view resource, Mark& mark, const Mark& to);

    FenceLimits limits_;
    Keeping keeping_;
    std::map<std::string, Mark, std::less<>> marks_;
    std::map<std::string, std::uint64_t, std::less<>> uncommitted_;  // zero: dropped
    CommitNumber last_change_ = no_commit;
};

}  // namespace holdfast::service
