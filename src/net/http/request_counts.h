#pragma once

// RequestCounts: how many requests a listener has answered on one loop, by route, method and status,
// and how long that took.
//
// A route is known by its pattern, never by the path of a request, so there are as many counters as
// lines in the table of routes. Requests that have no route are counted together.
//
// Thread safety: the loop's thread counts, with plain additions. Any thread may read, and sees all
// requests but those of the last moment.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::net {

// A line of a table of routes, for one method.
struct RouteName {
    std::string_view method;   // `POST`
    std::string_view pattern;  // `/v1/locks/{lock}/acquire`
};

// What was counted of one route, as values.
struct RequestFigures {
    std::string route, method;
    std::map<int, std::uint64_t> statuses;  // how many answers had each of them
    std::vector<std::uint64_t> durations;   // by RouteCounts::bounds_seconds, and one for the rest
    double seconds = 0;                     // of all together
};

// The counters of one route and method.
class RouteCounts {
  public:
    static constexpr std::array<double, 16> bounds_seconds{
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
        0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};

    // An answer is complete. It counts at once; how long it took is told by add_duration().
    void add_status(int status);
    // From the arrival of the request, as a whole (or of its header, if the body comes in pieces), to
    // the end of its answer.
    void add_duration(std::chrono::nanoseconds took);

    // Adds what was counted here.
    void add_to(RequestFigures& figures) const;

  private:
    using Counter = std::atomic<std::uint64_t>;
    struct Status {
        std::atomic<int> status = 0;  // 0: unused
        Counter count = 0;
    };

    // Only one thread writes, so no addition is lost.
    static void add(Counter& counter, std::uint64_t more) {
        counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    }

    // A route has few of them. The last one is for all others.
    static constexpr std::size_t statuses_max = 16;
    std::array<Status, statuses_max> statuses_;
    std::array<Counter, bounds_seconds.size() + 1> durations_{};
    Counter nanoseconds_ = 0;
};

class RequestCounts {
  public:
    // The names outlive the counts. Number 0 is for requests without a route, and number n for
    // names[n - 1].
    explicit RequestCounts(std::vector<RouteName> names)
        : names_(std::move(names)), routes_(new RouteCounts[names_.size() + 1]) {}

    [[nodiscard]] RouteCounts& operator[](std::size_t number) { return routes_[number]; }

    // Adds everything to what other loops have counted: figures[n] is of number n. Makes that many.
    void add_to(std::vector<RequestFigures>& figures) const;

  private:
    std::vector<RouteName> names_;
    std::unique_ptr<RouteCounts[]> routes_;
};

}  // namespace holdfast::net
