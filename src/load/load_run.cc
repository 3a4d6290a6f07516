#include "load/load_run.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <random>
#include <thread>

#include "base/crypto.h"
#include "load/lock_client.h"
#include "load/witness.h"

namespace holdfast::load {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// The state that the clients of one run share.
class SharedState {
  public:
    explicit SharedState(const LoadOptions& options) : options_(options) {
        for (std::size_t key = 0; key < options.keys; ++key) {
            names_.push_back(options.keys == 1 ? options.lock
                                               : options.lock + "-" + std::to_string(key));
            witnesses_.push_back(std::make_unique<Witness>(names_.back()));
        }
    }

    [[nodiscard]] const LoadOptions& options() const { return options_; }
    [[nodiscard]] const std::string& name(std::size_t key) const { return names_[key]; }
    [[nodiscard]] Witness& witness(std::size_t key) const { return *witnesses_[key]; }

    void note_acquire(Clock::duration took) {
        const std::lock_guard guard(mutex_);
        acquire_latency_.add(took);
    }
    void note_release(Clock::duration took) {
        const std::lock_guard guard(mutex_);
        release_latency_.add(took);
    }
    // REQUIRES: every client has ended.
    [[nodiscard]] const base::LatencyHistogram& acquire_latency() const { return acquire_latency_; }
    [[nodiscard]] const base::LatencyHistogram& release_latency() const { return release_latency_; }

    void note_error(const base::Error& error) {
        ++errors;
        const std::lock_guard guard(mutex_);
        if (first_error_.empty()) first_error_ = error.message;
    }
    [[nodiscard]] std::string first_error() const {
        const std::lock_guard guard(mutex_);
        return first_error_;
    }

    [[nodiscard]] LoadCounts count() const {
        LoadCounts counts{.acquire_success = acquire_success,
                          .acquire_fail = acquire_fail,
                          .release_success = release_success,
                          .errors = errors};
        for (const auto& witness : witnesses_) {
            const Downstream downstream = witness->downstream();
            counts.writes_accepted += downstream.accepted();
            counts.stale_rejected += downstream.refused();
            counts.last_token = std::max(counts.last_token, downstream.largest());
        }
        return counts;
    }

    std::atomic<std::uint64_t> acquire_success = 0;
    std::atomic<std::uint64_t> acquire_fail = 0;
    std::atomic<std::uint64_t> release_success = 0;
    std::atomic<std::uint64_t> errors = 0;

  private:
    const LoadOptions& options_;
    std::vector<std::string> names_;
    std::vector<std::unique_ptr<Witness>> witnesses_;  // one for each name
    mutable std::mutex mutex_;
    // Under mutex_. Those of all clients: each of its own would take half a megabyte.
    std::string first_error_;
    base::LatencyHistogram acquire_latency_, release_latency_;
};

// One client, on a thread of its own.
class Worker {
  public:
    Worker(SharedState& shared, std::string owner, std::unique_ptr<LockClient> client)
        : shared_(shared),
          options_(shared.options()),
          owner_(std::move(owner)),
          client_(std::move(client)),
          random_(base::RandomBits()()) {}

    void run(Clock::time_point end) {
        end_ = end;
        while (Clock::now() < end_) do_one_round();
    }

  private:
    void do_one_round() {
        const std::size_t key =
            std::uniform_int_distribution<std::size_t>(0, options_.keys - 1)(random_);
        Witness& witness = shared_.witness(key);
        const Witness::Question question = witness.ask();
        const auto acquired = client_->acquire(shared_.name(key));
        if (!acquired) return rest_after(acquired.error());
        shared_.note_acquire(Clock::now() - question.asked_at);
        if (const auto* const refusal = std::get_if<Refusal>(&*acquired)) {
            ++shared_.acquire_fail;
            return rest(refusal->retry_after ? vary(*refusal->retry_after)
                                             : options_.hold + some_of(options_.jitter));
        }
        const Grant& grant = std::get<Grant>(*acquired);
        const Witness::Hold hold = witness.see_grant(
            question, {.owner = owner_, .fencing_number = grant.fencing_number, .ttl = grant.ttl});
        ++shared_.acquire_success;
        work(grant);
        witness.write(hold);
        witness.see_release(hold);
        release(key, grant);
        rest(some_of(options_.jitter));
    }

    // Most holders finish in time. Some stop, like a process that is swapped out, and go on when
    // their lease has expired, or when the run ends.
    void work(const Grant& grant) {
        const bool stops = std::bernoulli_distribution(options_.fail_rate)(random_);
        rest(stops ? grant.ttl + grant.ttl / 4 + some_of(options_.jitter)
                   : options_.hold + some_of(options_.jitter));
    }

    void release(std::size_t key, const Grant& grant) {
        const auto sent_at = Clock::now();
        const auto released = client_->release(shared_.name(key), grant);
        if (!released) return rest_after(released.error());
        shared_.note_release(Clock::now() - sent_at);
        if (*released) ++shared_.release_success;
    }

    void rest_after(const base::Error& error) {
        shared_.note_error(error);
        rest(milliseconds(100));
    }

    // Sleeps for `pause`, but not beyond the end of the run.
    void rest(milliseconds pause) const {
        std::this_thread::sleep_until(std::min(Clock::now() + pause, end_));
    }

    milliseconds some_of(milliseconds most) {
        return milliseconds(
            std::uniform_int_distribution<milliseconds::rep>(0, most.count())(random_));
    }

    // A fifth more or less, so that clients that were refused together do not come back together.
    milliseconds vary(milliseconds pause) { return pause - pause / 5 + some_of(2 * pause / 5); }

    SharedState& shared_;
    const LoadOptions& options_;
    const std::string owner_;
    const std::unique_ptr<LockClient> client_;
    std::mt19937_64 random_;
    Clock::time_point end_;
};

// Calls `on_second` once a second until the end.
void watch(const SharedState& shared, Clock::time_point end,
           const std::function<void(const LoadCounts&)>& on_second) {
    constexpr std::chrono::seconds interval{1};
    for (auto due = Clock::now() + interval; due < end; due += interval) {
        std::this_thread::sleep_until(due);
        on_second(shared.count());
    }
}

}  // namespace

base::Result<LoadResult> run_load(const LoadOptions& options,
                                  const std::function<void(const LoadCounts&)>& on_second) {
    SharedState shared(options);
    // The owners of two runs against the same server must differ.
    const std::string prefix = "bench-" + std::to_string(::getpid()) + "-";
    std::deque<Worker> workers;
    for (std::size_t index = 0; index < options.clients; ++index) {
        std::string owner = prefix + std::to_string(index);
        TRY(auto client, open_client(options, owner));
        if (index == 0) TRY(client->greet());
        workers.emplace_back(shared, std::move(owner), std::move(client));
    }
    const auto begin = Clock::now();
    const auto end = begin + options.duration;
    {
        std::vector<std::jthread> threads;
        threads.reserve(workers.size());
        for (Worker& worker : workers) threads.emplace_back([&] { worker.run(end); });
        watch(shared, end, on_second);
    }
    LoadResult result{.counts = shared.count(),
                      .duration = Clock::now() - begin,
                      .acquire_latency = shared.acquire_latency(),
                      .release_latency = shared.release_latency(),
                      .first_error = shared.first_error()};
    for (std::size_t key = 0; key < options.keys; ++key) {
        const auto faults = shared.witness(key).faults();
        result.faults.insert(result.faults.end(), faults.begin(), faults.end());
        result.fault_count += shared.witness(key).fault_count();
    }
    return result;
}

}  // namespace holdfast::load
