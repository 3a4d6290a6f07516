#pragma once

// TestStore: a store that commits when the test says so, or fails.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "service/store.h"

namespace holdfast::service::testing {

class TestStore final : public Store {
  public:
    explicit TestStore(bool is_volatile) : is_volatile_(is_volatile) {}

    [[nodiscard]] bool is_volatile() const override { return is_volatile_; }

    // Gives back `remembered`, or fails while `cannot_recover` says why.
    [[nodiscard]] StoreResult<Recovered> recover(
        const std::function<bool(const core::RestoreRequest&)>& on_lease) override {
        ++recoveries;
        if (!cannot_recover.empty()) {
            return tl::unexpected(StoreFailure{.message = cannot_recover});
        }
        for (const core::RestoreRequest& lease : remembered) {
            CHECK(on_lease(lease));
            if (on_read) on_read();
        }
        return Recovered{
            .leases = remembered.size(), .next_fence = next_fence, .fences = remembered_fences};
    }

    void commit(const Commit& commit, CommitDone done) override {
        CHECK(!is_committing());  // what the interface requires
        std::vector<std::string> events;
        for (const core::Event& event : commit.changes) {
            if (!core::is_kept(event)) continue;
            events.push_back(std::string(core::to_text(event.kind))
                                 .append(" ")
                                 .append(event.lease.scope.name)
                                 .append(" ")
                                 .append(event.lease.owner.name));
        }
        for (const FenceMark& mark : commit.fences) {
            events.push_back("fence " + mark.resource + " " + std::to_string(mark.highest));
        }
        if (commit.reserved_fence > 0) {
            events.push_back("numbers up to " + std::to_string(commit.reserved_fence));
        }
        commits.push_back(std::move(events));
        done_ = std::move(done);
        if (commits_at_once) finish();
    }

    [[nodiscard]] bool is_committing() const { return done_ != nullptr; }

    // The commit under way succeeds, or fails. REQUIRES: there is one.
    void finish() { std::exchange(done_, nullptr)({}); }
    void fail(std::string message) {
        std::exchange(done_, nullptr)(tl::unexpected(StoreFailure{.message = std::move(message)}));
    }

    std::vector<core::RestoreRequest> remembered;
    std::vector<FenceMark> remembered_fences;
    std::uint64_t next_fence = 1;
    std::string cannot_recover;
    std::function<void()> on_read;  // called for every lease that was read; may be empty
    int recoveries = 0;
    bool commits_at_once = false;                   // before commit() returns
    std::vector<std::vector<std::string>> commits;  // the events of each, as `granted job laptop1`

  private:
    const bool is_volatile_;
    CommitDone done_;
};

}  // namespace holdfast::service::testing
