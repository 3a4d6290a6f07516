#include "net/connection_set.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace holdfast::net {

namespace {

// How often deadlines are looked at, at most: timeouts need not be exact, but must not cost.
constexpr std::chrono::milliseconds tick{100};

}  // namespace

ConnectionSet::ConnectionSet(EventLoop& loop, const ConnectionLimits& limits,
                             const ProtocolFactory& factory, const TlsSource* tls)
    : loop_(loop),
      limits_(limits),
      factory_(factory),
      tls_(tls),
      timeouts_{TimeoutQueue(limits.request_timeout), TimeoutQueue(limits.idle_timeout),
                TimeoutQueue(limits.write_timeout), TimeoutQueue(limits.linger_timeout),
                TimeoutQueue(limits.farewell_timeout)},
      timer_(loop, [this] { expire(); }),
      grace_timer_(loop, [this] {
          for (auto& connection : connections_) connection.close();
      }) {}

ConnectionSet::~ConnectionSet() {
    connections_.clear_and_dispose(std::default_delete<Connection>());
}

void ConnectionSet::hand_over(Transport transport) {
    size_.fetch_add(1, std::memory_order_relaxed);
    loop_.post([this, held = std::move(transport)]() mutable { adopt(std::move(held)); });
}

void ConnectionSet::adopt(Transport transport) {
    if (tls_) transport.encrypt(*tls_->current());
    auto connection = std::make_unique<Connection>(*this, std::move(transport));
    if (leaving_ || !connection->start(factory_(*connection, loop_))) return forget_one();
    if (draining_) connection->begin_drain();
    connections_.push_back(*connection.release());
}

void ConnectionSet::begin_drain(std::function<void()> on_quiet) {
    draining_ = true;
    on_quiet_ = std::move(on_quiet);
    for (auto& connection : connections_) {
        if (connection.begin_drain()) ++unfinished_;
    }
    report_if_quiet();
}

void ConnectionSet::drain(std::chrono::milliseconds grace, std::function<void()> on_empty) {
    draining_ = leaving_ = true;
    on_empty_ = std::move(on_empty);
    for (auto& connection : connections_) connection.drain();
    grace_timer_.call_at(loop_.now() + grace);
    report_if_empty();
}

void ConnectionSet::start_timeout(Timeout timeout, TimeoutEntry& entry) {
    timeouts_[static_cast<std::size_t>(timeout)].start(entry, loop_.now());
    if (entry.running() && entry.deadline() < armed_) arm();
}

void ConnectionSet::destroy(Connection& connection) {
    connections_.erase_and_dispose(connections_.iterator_to(connection),
                                   std::default_delete<Connection>());
    forget_one();
}

void ConnectionSet::expire() {
    for (auto& queue : timeouts_) {
        while (!queue.empty() && queue.front().deadline() <= loop_.now()) {
            auto& entry = queue.front();
            entry.owner().on_timeout(entry);
        }
    }
    arm();
}

void ConnectionSet::arm() {
    armed_ = EventLoop::TimePoint::max();
    for (auto& queue : timeouts_) {
        if (!queue.empty()) armed_ = std::min(armed_, queue.front().deadline());
    }
    if (armed_ == EventLoop::TimePoint::max()) return;
    armed_ = std::max(armed_, loop_.now() + tick);
    timer_.call_at(armed_);
}

void ConnectionSet::forget_one() {
    size_.fetch_sub(1, std::memory_order_relaxed);
    report_if_empty();
}

// The turn that destroyed the last connection is still under way: what follows may destroy the set.
void ConnectionSet::report_if_empty() {
    if (leaving_ && on_empty_ && size() == 0) loop_.post(std::exchange(on_empty_, {}));
}

void ConnectionSet::finished_one() {
    if (unfinished_ > 0) --unfinished_;
    report_if_quiet();
}

void ConnectionSet::report_if_quiet() {
    if (on_quiet_ && unfinished_ == 0) loop_.post(std::exchange(on_quiet_, {}));
}

}  // namespace holdfast::net
