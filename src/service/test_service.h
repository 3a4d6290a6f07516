#pragma once

// What the tests of the service share: a service driven by hand, short ways to ask it, and answers
// as short texts.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/lock_service.h"
#include "service/ports/test_executor.h"
#include "service/test_store.h"

namespace holdfast::service::testing {

using namespace std::chrono_literals;

using Notes = std::vector<std::string>;

inline constexpr WallTime test_epoch{std::chrono::sys_days{std::chrono::January / 15 / 2024}};

inline std::string to_note(const FenceOutcome& outcome) {
    switch (outcome.kind) {
        case FenceOutcome::Kind::accepted: return "accepted " + std::to_string(outcome.highest);
        case FenceOutcome::Kind::stale: return "stale " + std::to_string(outcome.highest);
        case FenceOutcome::Kind::unknown: return "unknown";
        case FenceOutcome::Kind::resources_max: return "resources_max";
        case FenceOutcome::Kind::resource_length_max: return "resource_length_max";
        case FenceOutcome::Kind::resource_not_utf8: return "resource_not_utf8";
    }
    return "";
}

// `granted laptop1`, `refused held`, `accepted 7`, `failed: disk full`.
inline std::string to_note(const Response& response) {
    if (!response.failure.empty()) {
        constexpr std::string_view doubt = " (it may have been done)";
        std::string failure(response.failure);
        EXPECT_EQ(failure.ends_with(doubt), response.is_unknown) << failure;
        if (!response.is_unknown) return "failed: " + failure;
        return "unknown: " +
               failure.substr(0, failure.size() - std::min(failure.size(), doubt.size()));
    }
    if (response.fence()) return to_note(*response.fence());
    const auto owner = std::string(response.outcome.lease.owner.name);
    switch (response.outcome.kind) {
        case core::Outcome::Kind::granted: return "granted " + owner;
        case core::Outcome::Kind::renewed: return "renewed " + owner;
        case core::Outcome::Kind::found: return "found " + owner;
        case core::Outcome::Kind::released: return "released";
        case core::Outcome::Kind::queued: return "queued";
        case core::Outcome::Kind::refused: break;
    }
    return "refused " + std::string(core::to_text(response.outcome.refusal));
}

// An answer that writes down what it was told, and then does something more, if given.
class NotedAnswer final : public OwnAnswer {
  public:
    NotedAnswer(Notes& notes, std::string prefix, std::function<void(const Response&)> then = {})
        : notes_(notes), prefix_(std::move(prefix)), then_(std::move(then)) {}

    void on_response(const Response& response) override {
        notes_.push_back(prefix_ + to_note(response));
        if (then_) then_(response);
    }

  private:
    Notes& notes_;
    const std::string prefix_;
    const std::function<void(const Response&)> then_;
};

// A thirty-second lease on the lock `job`, now or never.
inline core::AcquireRequest take(std::string_view owner, std::string_view job = "job") {
    return {.scope = core::Scope::named(job), .owner = {.name = owner}, .ttl = 30s};
}

// The same request, to be repeated with this id.
inline core::AcquireRequest with_id(core::AcquireRequest request, std::string_view id) {
    request.notes.request_id = id;
    return request;
}

// The same, ready to wait.
inline core::AcquireRequest wait_for(std::string_view owner,
                                     core::Duration wait = core::wait_forever) {
    core::AcquireRequest request = take(owner);
    request.wait = wait;
    return request;
}

inline ReleaseOwn give_back(std::string_view owner, std::string_view job = "job") {
    return {.scope = core::Scope::named(job), .owner = {.name = owner}};
}

enum class Durability { none, full };

// The rights of a client, which has them on everything until it loses some.
class TestRights final : public core::ScopeFilter {
  public:
    [[nodiscard]] bool includes(const core::Scope& scope) const override {
        return !lost.contains(core::to_text(scope));
    }
    std::set<std::string> lost;
};

// A service of which the test holds every part.
struct TestService {
    explicit TestService(Durability durability, CommitLimits limits = {},
                         core::TableOptions table = {})
        : options(table), store(durability == Durability::none, limits) {
        CHECK(recover());
    }

    // REQUIRES: the store does not recover late.
    StoreResult<Recovered> recover() {
        std::optional<StoreResult<Recovered>> recovered;
        service.recover([&](StoreResult<Recovered> result) { recovered = std::move(result); });
        return std::move(recovered).value();
    }

    // The response as a note, or `later`; then notes will say `<prefix><note>`.
    std::string ask(const Request& request, const std::string& prefix = "",
                    const Asker& asker = {}) {
        if (const Response* response = service.submit(request, asker.by, asker.allowed)) {
            return to_note(*response);
        }
        promise = service.await(std::make_unique<NotedAnswer>(notes, prefix));
        return "later";
    }

    // What answers were told since the last call.
    Notes take_notes() { return std::exchange(notes, {}); }

    void advance(core::Duration step) {
        clock.advance(step);
        executor.ring();
    }

    const core::TableOptions options;
    ManualClock clock{test_epoch};
    TestStore store;
    ManualExecutor executor;
    std::uint64_t drawn = 0;  // random bits
    Notes events;             // as `granted laptop1`, `fence_refused bucket 6 7`
    Notes askers;             // whom the events name
    Notes deposed;            // why, each time
    Notes notes;
    PromiseId promise{};  // of the last request that is answered later
    LockService service{
        options,
        {.clock = clock,
         .store = store,
         .executor = executor,
         .random = [this] { return ++drawn; },
         .on_changes =
             [this](const core::Changes& changes) {
                 for (const core::Event& event : changes) {
                     events.push_back(std::string(core::to_text(event.kind)) + " " +
                                      std::string(event.lease.owner.name));
                     if (!event.by.empty()) askers.emplace_back(event.by);
                 }
             },
         .on_fence_refused =
             [this](const FenceRefusal& refusal) {
                 events.push_back("fence_refused " + std::string(refusal.resource) + " " +
                                  std::to_string(refusal.number) + " " +
                                  std::to_string(refusal.highest));
             },
         .on_act =
             [this](const AdminAct& act) {
                 events.push_back(std::string(to_text(act.action)) + " " + std::string(act.what));
                 askers.emplace_back(act.by);
             },
         .on_deposed = [this](const StoreFailure& why) { deposed.push_back(why.message); }}};
};

}  // namespace holdfast::service::testing
