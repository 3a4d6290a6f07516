#pragma once

// Store: where the truth is kept when the server is not running.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/histogram.h"
#include "base/result.h"
#include "core/values/changes.h"
#include "core/values/request.h"
#include "service/books/fence.h"

namespace holdfast::service {

// Why a store could not do what was asked. `is_busy`: somebody else has it locked just now.
struct StoreFailure {
    bool is_busy = false;
    std::string message;
};

template <class T>
using StoreResult = tl::expected<T, StoreFailure>;

using CommitDone = std::function<void(const StoreResult<void>&)>;

// What a store remembered.
struct Recovered {
    std::size_t leases = 0;
    std::uint64_t next_fence = 1;  // larger than every number that was committed or reserved
    std::vector<FenceMark> fences;
};

// What is made durable together: those of the changes that must survive a restart (core::is_kept),
// and of fences each resource at most once.
struct Commit {
    core::Changes changes;
    std::vector<FenceMark> fences;
    // No fencing number up to this one is given out after a restart, although no lease that is
    // committed may have it. Zero: nothing is reserved.
    std::uint64_t reserved_fence = 0;

    [[nodiscard]] bool empty() const { return size() == 0 && reserved_fence == 0; }

    // How much of it is to be kept.
    [[nodiscard]] std::size_t size() const {
        const auto kept = std::count_if(changes.begin(), changes.end(), core::is_kept);
        return static_cast<std::size_t>(kept) + fences.size();
    }
};

// What a store has done since it was opened, for people who watch it.
struct StoreFigures {
    std::uint64_t commits = 0;          // that succeeded
    std::uint64_t commit_failures = 0;  // of any kind,
    std::uint64_t busy_failures = 0;    // and those of them where somebody else had it locked
    std::uint64_t changes = 0;          // in the commits that succeeded
    std::uint64_t disk_bytes = 0;       // that its files have now
    // Of each commit that succeeded.
    base::Histogram commit_seconds{0.000'25, 13};
    base::Histogram batch_sizes{1, 13};
};

// Thread safety: called from the service's thread, but for figures(); `done` may be called on any
// thread.
class Store {
  public:
    virtual ~Store() = default;

    // Whether nothing survives the process anyway. Then no answer has to wait for a commit.
    [[nodiscard]] virtual bool is_volatile() const = 0;

    // Calls on_lease for every lease that was committed and has not ended, in the order of their
    // numbers; it answers whether the lease makes sense. Fails if one does not. May be called again
    // after a failed commit, to begin anew from what is really there. REQUIRES: no commit is under
    // way.
    [[nodiscard]] virtual StoreResult<Recovered> recover(
        const std::function<bool(const core::RestoreRequest&)>& on_lease) = 0;

    // Makes durable those of the changes that are to be kept, the fences and the reservation, all
    // or none, after everything committed before; then calls `done`, perhaps before returning.
    // REQUIRES: the commit before this one is done; `commit` lives, and stays as it is, until this
    // one is.
    virtual void commit(const Commit& commit, CommitDone done) = 0;

    // What it has done so far; zeros where nothing is kept. Any thread may ask.
    [[nodiscard]] virtual StoreFigures figures() const { return {}; }
};

}  // namespace holdfast::service
