// Which structure should know what is due next? A million live deadlines: what it costs to arm one,
// to renew it to a later moment, and to let it come due; and the bytes each takes, beside the true
// deadline, which the record itself keeps in every case.

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "core/containers/deadline_heap.h"
#include "measure.h"

namespace holdfast::bench {
namespace {

using core::Duration;
using core::Slot;
using core::Time;

constexpr std::size_t count = 1'000'000;
constexpr std::int64_t tick_us = 1000;

using Deadlines = std::vector<Time>;

// The engine's own: a renewal to later leaves the heap alone.
struct LazyHeap {
    void arm(Slot slot, Time deadline) { heap.arm(slot, deadline); }
    void renew(Slot slot, Time deadline) { heap.arm(slot, deadline); }
    std::size_t expire(Time now, const Deadlines& deadlines) {
        std::size_t expired = 0;
        while (const auto top = heap.top()) {
            if (top->deadline > now) break;
            if (deadlines[top->slot] > top->deadline) {
                heap.postpone_top(deadlines[top->slot]);
            } else {
                heap.disarm(top->slot);
                ++expired;
            }
        }
        return expired;
    }
    core::DeadlineHeap heap;
};

// The same heap, told of every renewal at once.
struct EagerHeap : LazyHeap {
    void renew(Slot slot, Time deadline) {
        heap.disarm(slot);
        heap.arm(slot, deadline);
    }
};

struct OrderedSet {
    explicit OrderedSet(const Deadlines& before) : old(before) {}
    void arm(Slot slot, Time deadline) { set.emplace(deadline, slot); }
    void renew(Slot slot, Time deadline) {
        set.erase({old[slot], slot});
        set.emplace(deadline, slot);
    }
    std::size_t expire(Time now, const Deadlines&) {
        std::size_t expired = 0;
        for (; !set.empty() && set.begin()->first <= now; ++expired) set.erase(set.begin());
        return expired;
    }
    const Deadlines& old;
    std::set<std::pair<Time, Slot>> set;
};

// A hierarchical timing wheel: level k has 64 buckets of 64^k ticks. An entry lies in the lowest
// level that reaches its tick and moves down when the wheel above it turns. Exact to a tick, never
// early.
class Wheel {
  public:
    explicit Wheel(std::size_t slots) : entries_(slots) {
        for (auto& level : buckets_) level.fill(core::no_slot);
    }

    void arm(Slot slot, Time deadline) {
        const std::int64_t us = deadline.time_since_epoch().count();
        entries_[slot].tick = static_cast<std::uint32_t>((us + tick_us - 1) / tick_us);
        insert(slot);
    }
    void renew(Slot slot, Time deadline) {
        remove(slot);
        arm(slot, deadline);
    }
    std::size_t expire(Time now, const Deadlines&) {
        const auto until = static_cast<std::uint32_t>(now.time_since_epoch().count() / tick_us);
        std::size_t expired = 0;
        while (now_ < until) {
            ++now_;
            for (unsigned level = 1; level < levels && now_ % (1U << (bits * level)) == 0;
                 ++level) {
                cascade(level);
            }
            Slot& first = buckets_[0][now_ % size];
            for (; first != core::no_slot; ++expired) remove(first);
        }
        return expired;
    }

  private:
    static constexpr unsigned bits = 6, size = 1U << bits, levels = 5;

    struct Entry {
        Slot next = core::no_slot, previous = core::no_slot;
        std::uint32_t tick = 0;
        std::uint32_t bucket = 0;
    };

    Slot& bucket(std::uint32_t number) { return buckets_[number / size][number % size]; }

    void insert(Slot slot) {
        Entry& entry = entries_[slot];
        const std::uint32_t tick = std::max(entry.tick, now_ + 1);
        const unsigned level = std::min(
            levels - 1, (31U - static_cast<unsigned>(std::countl_zero(tick ^ now_))) / bits);
        entry.bucket = level * size + (tick >> (bits * level)) % size;
        Slot& first = bucket(entry.bucket);
        entry.previous = core::no_slot;
        entry.next = first;
        if (first != core::no_slot) entries_[first].previous = slot;
        first = slot;
    }

    void remove(Slot slot) {
        const Entry& entry = entries_[slot];
        if (entry.next != core::no_slot) entries_[entry.next].previous = entry.previous;
        (entry.previous != core::no_slot ? entries_[entry.previous].next : bucket(entry.bucket)) =
            entry.next;
    }

    void cascade(unsigned level) {
        Slot& first = buckets_[level][(now_ >> (bits * level)) % size];
        Slot slot = std::exchange(first, core::no_slot);
        while (slot != core::no_slot) {
            const Slot next = entries_[slot].next;
            // Due at this very tick: into the bucket that is emptied next.
            if (entries_[slot].tick <= now_) {
                push_due(slot);
            } else {
                insert(slot);
            }
            slot = next;
        }
    }

    void push_due(Slot slot) {
        Entry& entry = entries_[slot];
        entry.bucket = now_ % size;
        Slot& first = bucket(entry.bucket);
        entry.previous = core::no_slot;
        entry.next = first;
        if (first != core::no_slot) entries_[first].previous = slot;
        first = slot;
    }

    std::vector<Entry> entries_;
    std::array<std::array<Slot, size>, levels> buckets_{};
    std::uint32_t now_ = 0;
};

struct Cost {
    double arm = 0, renew = 0, expire = 0, bytes = 0;
};

// Leases of 10 to 40 seconds, each renewed once, in random order, by another 10.
template <class MakeTimers>
Cost measure(const MakeTimers& make) {
    std::mt19937 random(7);
    Deadlines deadlines(count), renewed(count);
    for (std::size_t i = 0; i < count; ++i) {
        deadlines[i] =
            Time{Duration{10'000'000 + static_cast<std::int64_t>(random() % 30'000'000)}};
        renewed[i] = deadlines[i] + Duration{10'000'000};
    }
    const auto order = shuffled(count);
    const auto before = allocated_bytes();
    auto timers = make(deadlines);
    Stopwatch arming, renewing, expiring;
    arming.start();
    for (Slot slot = 0; slot < count; ++slot) timers.arm(slot, deadlines[slot]);
    arming.stop();
    const auto bytes = allocated_bytes() - before;
    renewing.start();
    for (const Slot slot : order) timers.renew(slot, renewed[slot]);
    renewing.stop();
    std::size_t expired = 0;
    expiring.start();
    for (std::int64_t ms = 0; ms <= 50'000; ++ms) {
        expired += timers.expire(Time{Duration{ms * tick_us}}, renewed);
    }
    expiring.stop();
    if (expired != count) fmt::print("only {} of {} came due!\n", expired, count);
    return {arming.ns_per(count), renewing.ns_per(count), expiring.ns_per(count),
            static_cast<double>(bytes) / static_cast<double>(count)};
}

template <class MakeTimers>
void print_row(const char* title, const MakeTimers& make) {
    Cost best = measure(make);
    for (int run = 1; run < 3; ++run) {
        const Cost cost = measure(make);
        best = {std::min(best.arm, cost.arm), std::min(best.renew, cost.renew),
                std::min(best.expire, cost.expire), cost.bytes};
    }
    fmt::print("| {} | {:.0f} | {:.0f} | {:.0f} | {:.0f} |\n", title, best.arm, best.renew,
               best.expire, best.bytes);
    std::fflush(stdout);
}

}  // namespace
}  // namespace holdfast::bench

int main() {
    using namespace holdfast::bench;
    fmt::print(
        "A million live deadlines, nanoseconds of processor time each (best of three runs); a "
        "dependent read from a random place in 32 MB takes {:.0f} ns here.\n\n"
        "| structure | arm | renew | expire | bytes each |\n|---|---|---|---|---|\n",
        ns_per_random_read(32'000'000));
    print_row("4-ary heap, lazy renewal", [](const Deadlines&) { return LazyHeap(); });
    print_row("4-ary heap, eager renewal", [](const Deadlines&) { return EagerHeap(); });
    print_row("`std::set`", [](const Deadlines& old) { return OrderedSet(old); });
    print_row("timing wheel, 1 ms ticks", [](const Deadlines&) { return Wheel(count); });
}
