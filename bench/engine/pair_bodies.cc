#include "engine/pair_bodies.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/log/log.h"
#include "core/lock_table.h"
#include "service/events/event_feed.h"
#include "service/events/event_log.h"
#include "service/lock_service.h"

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t lock_count = 1024;  // they are used in turn

const std::vector<std::string>& names() {
    static const std::vector<std::string> all = [] {
        std::vector<std::string> made;
        for (std::size_t i = 0; i < lock_count; ++i) made.push_back(fmt::format("k{:06}", i));
        return made;
    }();
    return all;
}

std::string_view name_of(std::size_t turn, std::size_t place) {
    return names()[(turn * pairs_per_turn + place) % lock_count];
}

core::AcquireRequest ask(std::string_view name, core::SessionId session) {
    return {.scope = core::Scope::named(name),
            .owner = {.name = "conn-17"},
            .ttl = 33s,
            .session = session,
            .secret = core::Secret{42}};
}

void run_table(std::size_t turns) {
    core::LockTable table({.hash_seed = 7});
    core::Time now{1s};
    const core::SessionId session = table.open_session(now, {.name = "conn-17"});
    std::array<core::Token, pairs_per_turn> tokens;
    for (std::size_t turn = 0; turn < turns; ++turn) {
        now += 1us;
        for (std::size_t i = 0; i < pairs_per_turn; ++i) {
            tokens[i] = table.acquire(now, ask(name_of(turn, i), session)).lease.token;
        }
        for (std::size_t i = 0; i < pairs_per_turn; ++i) {
            const auto scope = core::Scope::named(name_of(turn, i));
            const auto outcome = table.release(now, {.token = tokens[i], .scope = scope});
            CHECK(outcome.kind == core::Outcome::Kind::released);
        }
        table.clear_changes();
    }
}

// Turns end, and tasks run, when the benchmark says so.
class TurnExecutor final : public service::Executor {
  public:
    void bind(std::function<void()> on_end_of_turn, std::function<void()> /*on_wake*/) override {
        on_end_of_turn_ = std::move(on_end_of_turn);
    }
    void at_end_of_turn() override { has_work_ = true; }
    [[nodiscard]] bool has_fresh_input() override { return std::exchange(is_fresh_, false); }
    void wake_after(core::Duration /*delay*/) override {}
    void post(std::function<void()> task) override { tasks_.push_back(std::move(task)); }

    // Ends the turn, and those of the tasks that follow from it.
    void settle() {
        is_fresh_ = true;
        do {
            while (std::exchange(has_work_, false)) on_end_of_turn_();
            running_.swap(tasks_);
            for (const auto& task : running_) task();
            running_.clear();
        } while (has_work_ || !tasks_.empty());
    }

  private:
    std::function<void()> on_end_of_turn_;
    bool has_work_ = false, is_fresh_ = true;
    std::vector<std::function<void()>> tasks_, running_;
};

// Writes nothing; a durable one says of every commit at once that it is done.
class NullStore final : public service::Store {
  public:
    explicit NullStore(bool is_volatile) : is_volatile_(is_volatile) {}
    [[nodiscard]] bool is_volatile() const override { return is_volatile_; }
    void recover(service::OnRecoveredLease /*on_lease*/, service::RecoverDone done) override {
        done(service::Recovered{});
    }
    void commit(const service::Commit& /*commit*/, service::CommitDone done) override { done({}); }

  private:
    const bool is_volatile_;
};

// What one request is answered. The service borrows it.
struct Noted final : service::Answer {
    void take(const service::Response& response) override { note(response); }
    void drop() override {}
    void note(const service::Response& response) {
        kind = response.outcome.kind;
        token = response.outcome.lease.token;
    }

    core::Outcome::Kind kind{};
    core::Token token;
};

enum class Observers { none, log_and_feed };

void run_service(std::size_t turns, bool is_volatile, Observers observers) {
    service::ManualClock clock{{}};
    NullStore store(is_volatile);
    TurnExecutor executor;
    service::EventLog log;
    service::EventFeed feed(1);
    service::ServiceParts parts{.clock = clock,
                                .store = store,
                                .executor = executor,
                                .random = [] { return std::uint64_t{42}; },
                                .on_changes = {}};
    if (observers == Observers::log_and_feed) {
        parts.on_changes = [&](const core::Changes& changes) { log.on_changes(changes); };
        parts.take_changes = [&](core::Changes& changes) { feed.publish(std::move(changes)); };
    }
    service::LockService service({.hash_seed = 7}, std::move(parts));
    service.recover([](const auto& recovered) { CHECK(recovered); });

    std::array<Noted, pairs_per_turn> answers;
    const auto submit = [&](service::Request&& request, Noted& answer) {
        if (const auto* const response = service.submit(std::move(request))) {
            answer.note(*response);
        } else {
            service.await(service::AnswerPointer(&answer));
        }
    };
    const auto* const opened = service.submit(service::OpenSession{.owner = {.name = "conn-17"}});
    CHECK(opened != nullptr);
    const core::SessionId session = opened->session;
    for (std::size_t turn = 0; turn < turns; ++turn) {
        clock.advance(1us);
        for (std::size_t i = 0; i < pairs_per_turn; ++i) {
            submit(ask(name_of(turn, i), session), answers[i]);
        }
        executor.settle();
        for (std::size_t i = 0; i < pairs_per_turn; ++i) {
            submit(core::ReleaseRequest{.token = answers[i].token,
                                        .scope = core::Scope::named(name_of(turn, i))},
                   answers[i]);
        }
        executor.settle();
        for (const Noted& answer : answers) CHECK(answer.kind == core::Outcome::Kind::released);
    }
}

}  // namespace

std::span<const PairBody> pair_bodies() {
    static constexpr std::array<PairBody, 4> all{{
        {"table", "the lock table", run_table},
        {"service", "the service",
         [](std::size_t turns) { run_service(turns, true, Observers::none); }},
        {"observed", "with log and feed, and no reader",
         [](std::size_t turns) { run_service(turns, true, Observers::log_and_feed); }},
        {"durable", "and with commits to a store that does nothing",
         [](std::size_t turns) { run_service(turns, false, Observers::log_and_feed); }},
    }};
    return all;
}

}  // namespace holdfast::bench
