#include "net/loop/connection_set.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"

namespace holdfast::net {

namespace {

// Deadlines are checked at most this often: timeouts need not be exact, but must be cheap.
constexpr std::chrono::milliseconds tick{100};

// A full waiting room is checked this often, because connections of other loops may empty it.
constexpr std::chrono::milliseconds room_tick{10};

}  // namespace

ConnectionSet::ConnectionSet(EventLoop& loop, const Common& common)
    : loop_(loop),
      common_(common),
      timeouts_{TimeoutQueue(limits().request_timeout), TimeoutQueue(limits().idle_timeout),
                TimeoutQueue(limits().write_timeout), TimeoutQueue(limits().linger_timeout),
                TimeoutQueue(limits().farewell_timeout)},
      timer_(loop, [this] { expire(); }),
      grace_timer_(loop, [this] { close_all(); }),
      next_turn_timer_(loop, [this] { start_turn_of_patient(); }),
      room_timer_(loop, [this] { look_into_waiting_room(); }) {}

ConnectionSet::~ConnectionSet() {
    CHECK(diverted_ == 0);
    connections_.clear_and_dispose(std::default_delete<Connection>());
}

void ConnectionSet::hand_over(Transport transport, std::shared_ptr<const Peer> peer) {
    size_.fetch_add(1, std::memory_order_relaxed);
    loop_.post([this, held = std::move(transport), peer = std::move(peer)]() mutable {
        adopt(std::move(held), std::move(peer));
    });
}

void ConnectionSet::adopt(Transport transport, std::shared_ptr<const Peer> peer) {
    if (peer || leaving_ || !common_.divert) return serve(std::move(transport), std::move(peer));
    Arrival arrival(*this, std::move(transport));
    if (!common_.divert(arrival)) std::move(arrival).serve();
    forget_one();
}

// REQUIRES: the connection is counted.
void ConnectionSet::serve(Transport transport, std::shared_ptr<const Peer> peer) {
    if (common_.tls) transport.encrypt(*common_.tls->current());
    auto connection = std::make_unique<Connection>(*this, std::move(transport), std::move(peer));
    if (leaving_) return forget_one();
    auto protocol = common_.factory(*connection, loop_);
    start(std::move(connection), std::move(protocol));
}

bool ConnectionSet::add(Transport transport, const MakeProtocol& make) {
    if (leaving_) return false;
    size_.fetch_add(1, std::memory_order_relaxed);
    auto connection = std::make_unique<Connection>(*this, std::move(transport));
    auto protocol = make(*connection);
    return start(std::move(connection), std::move(protocol));
}

bool ConnectionSet::start(std::unique_ptr<Connection> connection,
                          std::unique_ptr<Protocol> protocol) {
    if (!connection->start(std::move(protocol))) return forget_one(), false;
    if (draining_) connection->begin_drain();
    connections_.push_back(*connection.release());
    return true;
}

void ConnectionSet::send_away() {
    for (auto& connection : connections_) connection.drain();
}

void ConnectionSet::close_all() {
    for (auto& connection : connections_) connection.close();
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
    if (connection.awaits_turn()) std::erase(patient_, &connection);
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

void ConnectionSet::call_next_turn(Connection& connection) {
    if (patient_.empty()) next_turn_timer_.call_at(loop_.now());
    patient_.push_back(&connection);
}

void ConnectionSet::start_turn_of_patient() {
    for (Connection* const connection : std::exchange(patient_, {})) connection->go_on();
}

void ConnectionSet::watch_waiting_room() {
    if (std::exchange(is_room_watched_, true)) return;
    room_timer_.call_at(loop_.now() + room_tick);
}

void ConnectionSet::look_into_waiting_room() {
    is_room_watched_ = false;
    if (waiting_room().is_full()) return watch_waiting_room();
    for (auto& connection : connections_) connection.on_room();
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

// Posts, because the turn that destroyed the last connection is still under way, and `on_empty` may
// destroy this set.
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
