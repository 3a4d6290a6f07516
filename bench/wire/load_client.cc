#include "wire/load_client.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace holdfast::bench {

namespace {

constexpr std::size_t load_batch_max = 256;  // ready connections taken from the kernel at once
constexpr std::size_t buffer_bytes = std::size_t{64} * 1024;
constexpr int patience_ms = 5000;

}  // namespace

struct LoadClient::Line {
    Peer peer;
    // The requests in turn, so often that from each of them on there are as many in a row as may be
    // in flight; and where in the text each begins.
    std::string text;
    std::vector<std::size_t> begins;
    std::size_t cycle;               // after so many it begins anew
    std::size_t next = 0;            // below cycle
    std::vector<TimePoint> sent_at;  // of each request in flight, a ring
    std::size_t oldest = 0;          // in the ring
    std::string held;                // the beginning of an answer
};

LoadClient::LoadClient(const LoadOptions& options)
    : options_(options), poll_(::epoll_create1(EPOLL_CLOEXEC)), buffer_(buffer_bytes) {}

LoadClient::~LoadClient() {
    ::close(poll_);
}

base::Result<std::unique_ptr<LoadClient>> LoadClient::connect(const LoadOptions& options) {
    if (options.connections < 1 || options.connections > connections_max) {
        return base::fail("the number of connections is out of range");
    }
    if (options.pipeline < 1 || options.pipeline > pipeline_max) {
        return base::fail("the number of requests in flight is out of range");
    }
    std::unique_ptr<LoadClient> client(new LoadClient(options));
    client->lines_.reserve(options.connections);
    for (std::size_t index = 0; index < options.connections; ++index) {
        TRY(client->open_line(index));
    }
    // Only now, so that connections opened early do not wait for those opened late.
    client->now_ = Clock::now();
    for (Line& line : client->lines_) {
        line.sent_at.assign(options.pipeline, client->now_);
        TRY(send_requests(line, options.pipeline));
    }
    return client;
}

base::Result<void> LoadClient::open_line(std::size_t index) {
    TRY(auto peer, Peer::connect(options_.port));
    TRY(const auto requests, options_.introduce(peer, index));
    if (requests.empty()) return base::fail("there is nothing to ask");
    Line& line = lines_.emplace_back(Line{.peer = std::move(peer), .cycle = requests.size()});
    for (std::size_t i = 0; i + 1 < requests.size() + options_.pipeline; ++i) {
        line.begins.push_back(line.text.size());
        line.text.append(requests[i % requests.size()]);
    }
    line.begins.push_back(line.text.size());
    if (line.text.empty() || line.text.size() > in_flight_bytes_max) {
        return base::fail("the requests in flight are empty or too large");
    }
    const int descriptor = line.peer.descriptor();
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &line;
    if (::fcntl(descriptor, F_SETFL, O_NONBLOCK) != 0 ||
        ::epoll_ctl(poll_, EPOLL_CTL_ADD, descriptor, &event) != 0) {
        return base::fail(std::string("cannot watch a connection: ") + std::strerror(errno));
    }
    return {};
}

base::Result<LoadResult> LoadClient::run(std::chrono::nanoseconds duration) {
    LoadResult result;
    std::array<epoll_event, load_batch_max> events;
    const TimePoint begin = Clock::now();
    now_ = begin;
    while (now_ - begin < duration) {
        const int count = ::epoll_wait(poll_, events.data(), load_batch_max, patience_ms);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return base::fail("the server answers nobody any more");
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
            TRY(serve(*static_cast<Line*>(events[i].data.ptr), result.latency));
        }
    }
    result.seconds = std::chrono::duration<double>(now_ - begin).count();
    return result;
}

// Receives once, and sends one request for each whole answer.
base::Result<void> LoadClient::serve(Line& line, base::LatencyHistogram& latency) {
    const std::size_t held_bytes = line.held.size();
    std::copy(line.held.begin(), line.held.end(), buffer_.begin());
    const auto count =
        ::recv(line.peer.descriptor(), buffer_.data() + held_bytes, buffer_.size() - held_bytes, 0);
    if (count < 0 && errno == EAGAIN) return {};
    if (count <= 0) return base::fail("the server has closed a connection");
    now_ = Clock::now();
    const std::string_view received(buffer_.data(), held_bytes + static_cast<std::size_t>(count));
    TRY(const std::size_t answers, take_answers(line, received, latency));
    return answers == 0 ? base::Result<void>() : send_requests(line, answers);
}

// Counts the answers and holds what follows the last whole one.
base::Result<std::size_t> LoadClient::take_answers(Line& line, std::string_view received,
                                                   base::LatencyHistogram& latency) {
    std::size_t answers = 0;
    while (const std::size_t bytes = options_.framer(received)) {
        const bool is_other =
            !options_.other_prefix.empty() && received.starts_with(options_.other_prefix);
        const bool is_expected = is_other || received.starts_with(options_.answer_prefix);
        if (!is_expected || answers == options_.pipeline) {
            return base::fail("an unexpected answer: " + std::string(received.substr(0, bytes)));
        }
        carry(line, answers, received.substr(0, bytes));
        if (received.starts_with(options_.counted_prefix)) {
            latency.add(now_ - line.sent_at[line.oldest]);
        }
        line.sent_at[line.oldest] = now_;
        if (++line.oldest == options_.pipeline) line.oldest = 0;
        received.remove_prefix(bytes);
        ++answers;
    }
    if (received.size() >= buffer_bytes) return base::fail("an answer without end");
    line.held.assign(received);
    return answers;
}

// The request that was answered is as many before the next one as are in flight.
void LoadClient::carry(Line& line, std::size_t answer_index, std::string_view answer) const {
    const Carry& what = options_.carry;
    if (what.bytes == 0) return;
    const std::size_t half = line.cycle / 2;
    const std::size_t asked =
        (line.next + answer_index + line.cycle - options_.pipeline) % line.cycle;
    if (asked >= half || answer.size() < what.answer_offset + what.bytes) return;
    const auto token = answer.substr(what.answer_offset, what.bytes);
    const std::size_t place = line.begins[asked + half] + what.request_offset;
    std::copy(token.begin(), token.end(), line.text.begin() + static_cast<std::ptrdiff_t>(place));
}

base::Result<void> LoadClient::send_requests(Line& line, std::size_t count) {
    const std::size_t begin = line.begins[line.next];
    const std::size_t bytes = line.begins[line.next + count] - begin;
    line.next = (line.next + count) % line.cycle;
    const auto sent = ::send(line.peer.descriptor(), line.text.data() + begin, bytes,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent != static_cast<ssize_t>(bytes)) return base::fail("the server takes no more requests");
    return {};
}

}  // namespace holdfast::bench
