#pragma once

// World: virtual time, what will happen in it, and the chances that decide.
//
// Everything in the simulation is an event: it happens at a moment, runs to its end, and may bring
// about later ones. What happens at the same moment happens in an order that the seed decides.
// Between two events nothing moves, so an hour in which nothing happens takes no time.
//
// Thread safety: none; there is one thread.

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/values/ids.h"
#include "core/values/scope_set.h"

namespace holdfast::sim {

// Where a world's chances come from: one generator, seeded once, so that a seed is a whole history.
class Random {
  public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}

    std::uint64_t bits() { return engine_(); }

    // One of 0 to bound - 1. REQUIRES: bound > 0.
    std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }

    bool chance(double probability) { return fraction() < probability; }

    core::Duration between(core::Duration least, core::Duration most) {
        return least + core::Duration{static_cast<std::int64_t>(
                           below(static_cast<std::uint64_t>((most - least).count()) + 1))};
    }

    // Mostly less than `mean`, now and then much more: how long until something happens that may
    // happen at any time.
    core::Duration about(core::Duration mean) {
        const double factor = -std::log(1.0 - fraction());
        return core::Duration{
            1 + static_cast<std::int64_t>(static_cast<double>(mean.count()) * factor)};
    }

    template <class T>
    const T& pick(const std::vector<T>& from) {
        return from[static_cast<std::size_t>(below(from.size()))];
    }

  private:
    double fraction() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

    std::mt19937_64 engine_;
};

// History: what happened in a world, line by line.
//
// Of a long history only the end is kept, but every line goes into the hash: two runs of a seed are
// the same exactly when their hashes are.
class History {
  public:
    explicit History(std::size_t lines_max) : lines_max_(lines_max) {}

    void add(std::string line);

    [[nodiscard]] std::uint64_t hash() const { return hash_; }
    [[nodiscard]] const std::deque<std::string>& lines() const { return lines_; }

  private:
    const std::size_t lines_max_;
    std::deque<std::string> lines_;
    std::uint64_t hash_ = 0xcbf29ce484222325;
};

// The time nobody in the world can see: machines have clocks of their own.
struct WorldTime {
    using rep = core::Duration::rep;
    using period = core::Duration::period;
    using duration = core::Duration;
    using time_point = std::chrono::time_point<WorldTime>;
    static constexpr bool is_steady = true;
};
using Moment = WorldTime::time_point;

// a + b, or the end of time when that lies beyond it. REQUIRES: b >= 0.
[[nodiscard]] constexpr Moment add_saturating(Moment a, core::Duration b) {
    return a > Moment::max() - b ? Moment::max() : a + b;
}

// What a correct server never does. Numbered as in docs/simulator.md.
struct Violation {
    int invariant = 0;
    std::string what;
    std::uint64_t step = 0;
};

class World {
  public:
    // NOLINTNEXTLINE(bugprone-easily-swappable-parameters): as a seed is read, then its history
    World(std::uint64_t seed, std::size_t history_lines_max)
        : random_(seed), history_(history_lines_max) {}
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    [[nodiscard]] Moment now() const { return now_; }
    [[nodiscard]] std::uint64_t steps() const { return steps_; }
    Random& random() { return random_; }
    [[nodiscard]] const History& history() const { return history_; }

    void at(Moment moment, std::function<void()> action);
    void after(core::Duration delay, std::function<void()> action) {
        at(add_saturating(now_, delay), std::move(action));
    }
    // Before everything else that is to happen at this moment.
    void next(std::function<void()> action);

    // Lets one event happen, unless there is none until `end`. False: there was none.
    bool step(Moment end);

    // The same text, good for as long as the world.
    std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }
    // The same for the members of a set.
    std::span<const core::SetMember> keep(std::vector<core::SetMember> members) {
        return sets_.emplace_back(std::move(members));
    }

    // Writes a line of history.
    template <class... Args>
    void note(fmt::format_string<Args...> format, Args&&... args) {
        std::string line = fmt::format("{:>14.6f} ", seconds());
        fmt::format_to(std::back_inserter(line), format, std::forward<Args>(args)...);
        history_.add(std::move(line));
    }

    // Something went wrong. The first time counts.
    void accuse(int invariant, std::string what);
    [[nodiscard]] const std::optional<Violation>& violation() const { return violation_; }

  private:
    struct Event {
        Moment moment;
        std::uint64_t order;   // among those of one moment; random
        std::uint64_t number;  // no two are equal
        std::function<void()> action;
    };
    static bool is_later(const Event& a, const Event& b);
    void push(Moment moment, std::uint64_t order, std::function<void()> action);
    [[nodiscard]] double seconds() const;

    Moment now_{};
    std::uint64_t steps_ = 0, pushed_ = 0;
    Random random_;
    History history_;
    std::vector<Event> events_;  // a heap
    std::deque<std::string> texts_;
    std::deque<std::vector<core::SetMember>> sets_;
    std::optional<Violation> violation_;
};

}  // namespace holdfast::sim
