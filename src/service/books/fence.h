#pragma once

// Fences of outside resources: what is asked of them, what is answered, and the book of them.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/ids.h"
#include "service/commit_number.h"

namespace holdfast::service {

// The largest fencing number that a resource has seen, as a store keeps it. Zero: none any more.
struct FenceMark {
    std::string resource;
    std::uint64_t highest = 0;

    bool operator==(const FenceMark&) const = default;
};

// Every fence is kept until somebody drops it, so their number has an end.
struct FenceLimits {
    std::size_t resources_max = 100'000;
    std::size_t resource_length_max = 4096;
};

// The answer to whoever raises, reads or drops a fence.
struct FenceOutcome {
    enum class Kind : std::uint8_t {
        accepted,             // raised, or as high already; read; dropped
        stale,                // the resource has seen a larger number
        unknown,              // there is no fence of this resource
        resources_max,        // FenceLimits, by name
        resource_length_max,  // likewise
        resource_not_utf8,    // only of a new fence: those of earlier versions stay
    };
    Kind kind = Kind::unknown;
    std::uint64_t highest = 0;  // accepted: after a raise, before a drop; stale
    // The answer must not be told before this commit is done: a crash could undo what it says.
    CommitNumber rests_on = no_commit;

    bool operator==(const FenceOutcome&) const = default;
};

// Somebody came with a number that was too small: it had lost its lock, or never had it. The name
// is good during the call that tells of it.
struct FenceRefusal {
    core::Time at;
    std::string_view resource;
    std::uint64_t number = 0;
    std::uint64_t highest = 0;
};

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
