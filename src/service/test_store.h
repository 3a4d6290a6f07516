#pragma once

// TestStore: a store that commits, fails and recovers when the test says so.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "service/store.h"

namespace holdfast::service::testing {

class TestStore final : public Store {
  public:
    explicit TestStore(bool is_volatile, CommitLimits limits = {})
        : is_volatile_(is_volatile), limits_(limits) {}

    [[nodiscard]] bool is_volatile() const override { return is_volatile_; }

    [[nodiscard]] CommitLimits commit_limits() const override { return limits_; }

    // Gives back `remembered`, or fails while `cannot_recover` says why; when `recovers_late`, after
    // finish_recovery().
    void recover(OnRecoveredLease on_lease, RecoverDone done) override {
        CHECK(!recover_done_ && !is_committing());  // what the interface requires
        ++recoveries;
        on_lease_ = std::move(on_lease);
        recover_done_ = std::move(done);
        if (!recovers_late) finish_recovery();
    }

    // REQUIRES: a recovery is under way.
    void finish_recovery() {
        const auto on_lease = std::exchange(on_lease_, nullptr);
        const auto done = std::exchange(recover_done_, nullptr);
        if (!cannot_recover.empty()) {
            return done(
                tl::unexpected(StoreFailure{.kind = recovery_failure, .message = cannot_recover}));
        }
        for (const core::RestoreRequest& lease : remembered) {
            CHECK(on_lease(lease));
            if (on_read) on_read();
        }
        done(Recovered{
            .leases = remembered.size(), .next_fence = next_fence, .fences = remembered_fences});
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
        numbers.push_back(static_cast<std::uint64_t>(commit.number));
        done_ = std::move(done);
        if (commits_at_once) finish();
    }

    [[nodiscard]] bool is_committing() const { return done_ != nullptr; }

    // The commit under way succeeds, or fails. REQUIRES: there is one.
    void finish() { std::exchange(done_, nullptr)({}); }
    void fail(std::string message, StoreFailure::Kind kind = StoreFailure::Kind::not_done) {
        std::exchange(done_, nullptr)(
            tl::unexpected(StoreFailure{.kind = kind, .message = std::move(message)}));
    }

    // The store is lost while no commit is under way.
    void lose(std::string message) {
        tell_lost({.kind = StoreFailure::Kind::deposed, .message = std::move(message)});
    }

    [[nodiscard]] std::string why_not_recovered() const override { return why_it_waits; }
    [[nodiscard]] std::string why_no_growth() const override { return why_full; }

    using Store::set_authority_deadline;
    using Store::set_refuses_growth;

    std::vector<core::RestoreRequest> remembered;
    std::vector<FenceMark> remembered_fences;
    std::uint64_t next_fence = 1;
    std::string cannot_recover;
    std::string why_it_waits, why_full;
    StoreFailure::Kind recovery_failure = StoreFailure::Kind::not_done;
    bool recovers_late = false;
    std::function<void()> on_read;  // called for every lease that was read; may be empty
    int recoveries = 0;
    bool commits_at_once = false;                   // before commit() returns
    std::vector<std::vector<std::string>> commits;  // the events of each, as `granted job laptop1`
    std::vector<std::uint64_t> numbers;             // of each commit

  private:
    const bool is_volatile_;
    const CommitLimits limits_;
    CommitDone done_;
    OnRecoveredLease on_lease_;
    RecoverDone recover_done_;
};

}  // namespace holdfast::service::testing
