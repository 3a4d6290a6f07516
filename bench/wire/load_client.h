#pragma once

// LoadClient: keeps a server busy from one thread, and measures how it answers.
//
// Think of it as a number of people, each repeating their requests over a connection of their own,
// with a fixed number of them in flight: for every answer the next request leaves at once. What was
// asked and how an answer ends is the caller's affair; the client only checks that each answer
// begins as expected. After connect() nothing is allocated, and an answer costs a few dozen
// instructions beside the system calls, one receive and one send per wake-up of a connection, as in
// the server it is meant to saturate.
//
// Between two runs requests stay in flight, so the first run after a pause is for warming up: its
// latencies include the pause.
//
// Thread safety: none.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/histogram.h"
#include "base/result.h"
#include "wire/answer_framer.h"
#include "wire/peer.h"

namespace holdfast::bench {

// What is repeated on a connection: one request, or several in turn.
using Requests = std::vector<std::string>;

// Prepares the connection with this index, e.g. takes the lock to be renewed, and returns what is
// to be repeated on it.
using Introduction = std::function<base::Result<Requests>(Peer& peer, std::size_t index)>;

// What of an answer is said again half a cycle later: a token that the server gave.
struct Carry {
    std::size_t answer_offset = 0;
    std::size_t request_offset = 0;
    std::size_t bytes = 0;  // none: nothing is carried
};

struct LoadOptions {
    std::uint16_t port = 0;
    std::size_t connections = 1;
    std::size_t pipeline = 1;  // requests in flight on each connection
    Introduction introduce;
    AnswerFramer framer;
    std::string answer_prefix;
    std::string other_prefix = {};    // with which an answer may begin as well; empty: none
    std::string counted_prefix = {};  // only answers that begin so are counted
    // From answers to the first half of the requests into the second.
    // REQUIRES: the cycle is twice as long as the pipeline.
    Carry carry = {};
};

struct LoadResult {
    double seconds = 0;
    base::LatencyHistogram latency;  // its count is that of the answers

    [[nodiscard]] double answers_per_second() const {
        return static_cast<double>(latency.count()) / seconds;
    }
};

class LoadClient {
  public:
    static constexpr std::size_t connections_max = 5000;
    static constexpr std::size_t pipeline_max = 256;
    // Of one connection: what a socket takes without ever being full.
    static constexpr std::size_t in_flight_bytes_max = std::size_t{16} * 1024;

    // Opens and introduces all connections, and sends the first requests.
    [[nodiscard]] static base::Result<std::unique_ptr<LoadClient>> connect(
        const LoadOptions& options);

    LoadClient(const LoadClient&) = delete;
    LoadClient& operator=(const LoadClient&) = delete;
    ~LoadClient();

    // Measures for so long. Fails on a wrong answer, a lost connection, or five seconds of silence.
    [[nodiscard]] base::Result<LoadResult> run(std::chrono::nanoseconds duration);

  private:
    using Clock = std::chrono::steady_clock;
    using TimePoint = Clock::time_point;

    struct Line;  // one connection

    explicit LoadClient(const LoadOptions& options);
    base::Result<void> open_line(std::size_t index);
    base::Result<void> serve(Line& line, base::LatencyHistogram& latency);
    base::Result<std::size_t> take_answers(Line& line, std::string_view received,
                                           base::LatencyHistogram& latency);
    void carry(Line& line, std::size_t answer_index, std::string_view answer) const;
    static base::Result<void> send_requests(Line& line, std::size_t count);

    const LoadOptions options_;
    const int poll_;  // an epoll descriptor
    TimePoint now_;
    std::vector<Line> lines_;
    std::vector<char> buffer_;  // where every connection receives
};

}  // namespace holdfast::bench
