// bench_library: what a call of LockManager costs a program that has the engine inside it, in memory.
//
// A check of a known lease is a read on the caller's thread. Beside it, in turns, a manager that knows
// no lease (known_leases_max = 0) asks its own thread about each: two changes of thread, as every call
// had once. Each figure is the median of the rounds, each ratio that of the ratios within a round. Prints
// a Markdown table.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/lock_manager.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

constexpr int rounds = 9;
constexpr auto round_time = 150ms;
constexpr int many = 8;

template <class T>
T expect(LockResult<T> result) {
    if (result) return *std::move(result);
    fmt::print(stderr, "{}\n", to_text(result.error()));
    std::exit(1);
}

LeaseRequest page(std::uint64_t number, const std::string& holder = "bench") {
    const LockScope scope = LockScope::ByteRange{7, number * 4096, (number + 1) * 4096};
    return {.scope = scope, .holder = holder, .ttl = 1h};
}

// Nanoseconds of the clock for each call, all threads together. A thread calls what `make(its number)`
// returns, again and again.
using Make = std::function<std::function<void()>(int)>;

double ns_per_call(int threads, const Make& make) {
    std::atomic<std::uint64_t> calls = 0;
    std::atomic<bool> is_over = false;
    std::atomic<int> ready = 0;
    std::vector<std::jthread> running;
    for (int thread = 0; thread < threads; ++thread) {
        running.emplace_back([&, thread] {
            const std::function<void()> call = make(thread);
            ++ready;
            while (ready < threads) std::this_thread::yield();
            std::uint64_t done = 0;
            while (!is_over) {
                for (int repeat = 0; repeat < 8; ++repeat) call();
                done += 8;
            }
            calls += done;
        });
    }
    while (ready < threads) std::this_thread::yield();
    const auto began = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(round_time);
    is_over = true;
    running.clear();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
    return took.count() / static_cast<double>(calls);
}

// The same for acquire and release with completions, with so many tasks that each do one pair after the
// other. They run on the manager's thread.
double ns_per_async_pair(LockManager& manager, int tasks) {
    struct Chain {
        AsyncLocks locks;
        std::atomic<bool> is_over = false;
        std::uint64_t pairs = 0;  // on the manager's thread
        int left = 0;
        std::promise<void> ended;

        void next(std::uint64_t number) {
            if (is_over) {
                if (--left == 0) ended.set_value();
                return;
            }
            locks.acquire(page(number), 1min, [this, number](const LockResult<Lease>& lease) {
                locks.release(expect(lease), [this, number](const LockResult<void>&) {
                    ++pairs;
                    next(number);
                });
            });
        }
    };
    Chain chain{.locks = manager.async(), .left = tasks};
    const auto began = std::chrono::steady_clock::now();
    for (int task = 0; task < tasks; ++task) chain.next(static_cast<std::uint64_t>(task));
    std::this_thread::sleep_for(round_time);
    chain.is_over = true;
    chain.ended.get_future().wait();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
    return took.count() / static_cast<double>(chain.pairs);
}

Make pair_of(LockManager& manager) {
    return [&manager](int thread) {
        return [&manager, request = page(static_cast<std::uint64_t>(thread))] {
            const Lease lease = expect(manager.try_acquire(request));
            if (!manager.release(lease)) std::exit(1);
        };
    };
}

Make check_of(LockManager& manager, const std::vector<Lease>& leases) {
    return [&manager, &leases](int thread) {
        const Lease& lease = leases[static_cast<std::size_t>(thread) % leases.size()];
        return [&manager, &lease] {
            if (!manager.check(lease.token, lease.scope)) std::exit(1);
        };
    };
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

struct Row {
    std::string name;
    std::function<double()> measure;
    std::size_t beside;  // the row that it is compared with
    std::vector<double> ns = {};
};

void print(const std::vector<Row>& rows) {
    double load = 0;
    if (::getloadavg(&load, 1) != 1) load = 0;
    fmt::print(
        "Nanoseconds of the clock for each call, all threads together; medians of {} alternating "
        "rounds of {} ms on {} cores. The load of the machine was {:.0f}. A caller that waits for "
        "another thread waits for other programs, too, so the ratios matter: how many times less "
        "the call takes than the one that it is beside. A check that asks the manager's thread is "
        "what every check was once.\n\n",
        rounds, round_time.count(), std::thread::hardware_concurrency(), load);
    fmt::print("| call | ns | ratio | beside |\n|---|--:|--:|---|\n");
    for (std::size_t index = 0; index < rows.size(); ++index) {
        const Row& row = rows[index];
        if (row.beside == index) {
            fmt::print("| {} | {:.0f} | | |\n", row.name, median(row.ns));
            continue;
        }
        std::vector<double> ratios;
        for (std::size_t round = 0; round < row.ns.size(); ++round) {
            ratios.push_back(rows[row.beside].ns[round] / row.ns[round]);
        }
        fmt::print("| {} | {:.0f} | {:.2f} | {} |\n", row.name, median(row.ns), median(ratios),
                   rows[row.beside].name);
    }
}

void run() {
    LockManager knowing = expect(LockManager::open());
    LockManager asking = expect(LockManager::open({.known_leases_max = 0}));
    std::vector<Lease> known, asked;
    for (std::uint64_t number = 0; number < many; ++number) {
        known.push_back(expect(knowing.try_acquire(page(1000 + number))));
        asked.push_back(expect(asking.try_acquire(page(1000 + number))));
    }
    const std::vector<Lease> one{known.front()};
    std::vector<Row> rows{
        {"check that asks, 1 thread", [&] { return ns_per_call(1, check_of(asking, asked)); }, 0},
        {"check, 1 thread", [&] { return ns_per_call(1, check_of(knowing, known)); }, 0},
        {"check that asks, 8 threads", [&] { return ns_per_call(many, check_of(asking, asked)); },
         2},
        {"check, 8 threads", [&] { return ns_per_call(many, check_of(knowing, known)); }, 2},
        {"check of one lease, 8 threads", [&] { return ns_per_call(many, check_of(knowing, one)); },
         2},
        {"acquire + release, 1 thread", [&] { return ns_per_call(1, pair_of(knowing)); }, 5},
        {"acquire + release, 8 threads", [&] { return ns_per_call(many, pair_of(knowing)); }, 5},
        {"acquire + release, completions of 1 task", [&] { return ns_per_async_pair(knowing, 1); },
         5},
        {"acquire + release, completions of 8 tasks",
         [&] { return ns_per_async_pair(knowing, many); }, 6},
        {"the same, no lease is known", [&] { return ns_per_async_pair(asking, many); }, 8},
    };
    for (int round = 0; round < rounds; ++round) {
        for (Row& row : rows) row.ns.push_back(row.measure());
    }
    print(rows);
}

}  // namespace
}  // namespace holdfast::bench

int main() {
    holdfast::bench::run();
}
