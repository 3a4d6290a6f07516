#include "net/loop/connection.h"

#include <sys/epoll.h>

#include <utility>

#include "base/check.h"
#include "net/loop/connection_set.h"

namespace holdfast::net {

namespace {

// A connection keeps this much of an output buffer for its next answer.
constexpr std::size_t kept_output_bytes_max = std::size_t{4} * 1024;

using Timeout = ConnectionSet::Timeout;

// Empties the text and gives its memory back, which assigning an empty one does not.
void release(std::string& text) {
    std::string().swap(text);
}

}  // namespace

Connection::Connection(ConnectionSet& set, Transport transport)
    : set_(set), transport_(std::move(transport)) {}

Connection::~Connection() {
    set_.loop().unschedule(*this);
    if (state_ != State::closed && protocol_) protocol_->on_closed();
}

bool Connection::start(std::unique_ptr<Protocol> protocol) {
    protocol_ = std::move(protocol);
    input_events_ = EPOLLIN;
    interest_ = input_events_ | EPOLLRDHUP;
    if (!set_.loop().poller().add(transport_.descriptor(), interest_, *this)) return false;
    update_timeouts();
    return true;
}

bool Connection::begin_drain() {
    if (std::exchange(draining_, true)) return holds_up_;
    if (state_ == State::open) protocol_->on_drain();
    holds_up_ = owes_something();
    return holds_up_;
}

void Connection::drain() {
    begin_drain();
    leaving_ = true;
    if (state_ == State::open && may_finish()) return close();
    if (state_ == State::lingering) set_.start_timeout(Timeout::farewell, reading_);
}

void Connection::close() {
    if (state_ == State::closed) return;
    state_ = State::closed;
    reading_.stop();
    writing_.stop();
    set_.loop().poller().remove(transport_.descriptor());
    transport_.close();
    protocol_->on_closed();
    CHECK(waiting_bytes_ == 0);
    report_if_finished();
    set_.loop().schedule(*this);
}

void Connection::on_timeout(TimeoutEntry& entry) {
    entry.stop();
    const bool slow_request = &entry == &reading_ && state_ == State::open && request_timed_;
    if (!slow_request) return close();
    protocol_->on_read_timeout();
    settle();
}

void Connection::flush() {
    set_.loop().schedule(*this);
}

void Connection::close_after_flush() {
    if (state_ != State::open) return;
    state_ = State::finishing;
    set_.loop().schedule(*this);
}

void Connection::resume() {
    paused_ = false;
    set_.loop().schedule(*this);
}

bool Connection::congested() const {
    return output_.size() - sent_bytes_ > set_.limits().output_bytes_max;
}

// The clock is read only by those who have sent several requests at once.
bool Connection::should_return() {
    if (congested()) return true;
    if (asked_++ == 0) return false;
    const auto now = EventLoop::Clock::now();
    if (asked_ == 2) turn_end_ = now + set_.limits().turn_share;
    is_turn_over_ = now >= turn_end_;
    return is_turn_over_;
}

void Connection::count_waiting(std::ptrdiff_t bytes) {
    if (bytes < 0) {
        CHECK(waiting_bytes_ >= static_cast<std::size_t>(-bytes));
        set_.waiting_room().remove(static_cast<std::size_t>(-bytes));
    } else {
        set_.waiting_room().add(static_cast<std::size_t>(bytes));
    }
    waiting_bytes_ += static_cast<std::size_t>(bytes);
}

bool Connection::has_room_to_wait() {
    if (!set_.waiting_room().is_full()) return true;
    awaits_room_ = true;
    set_.watch_waiting_room();
    return false;
}

void Connection::go_on() {
    awaits_turn_ = is_turn_over_ = false;
    set_.loop().schedule(*this);
}

void Connection::on_room() {
    if (std::exchange(awaits_room_, false) && state_ == State::open) resume();
}

EventLoop::TimePoint Connection::now() const {
    return set_.loop().now();
}

void Connection::on_ready(std::uint32_t events) {
    if (state_ == State::closed) return;
    if ((events & input_events_) != 0) {
        receive();
    } else if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
        close();
    } else if ((events & EPOLLRDHUP) != 0) {
        report_end_of_input();
    }
    set_.loop().schedule(*this);
}

void Connection::on_end_of_turn() {
    if (state_ == State::closed) return set_.destroy(*this);
    if (fresh_.empty()) return settle();
    take_input(std::exchange(fresh_, {}));
    set_.loop().schedule(*this);
}

void Connection::receive() {
    const auto buffer = set_.loop().read_buffer();
    const auto result = transport_.receive(buffer);
    switch (result.status) {
        case IoStatus::moved:
            fresh_ = {buffer.data(), result.bytes};
            if (!set_.loop().keep_read_bytes(result.bytes)) take_input(std::exchange(fresh_, {}));
            return;
        case IoStatus::would_block: return;
        case IoStatus::ended: end_received_ = true; return report_end_of_input();
        case IoStatus::failed: return close();
    }
}

void Connection::take_input(std::string_view fresh) {
    if (state_ != State::open) return;
    if (held_.empty() && may_go_on()) return offer(fresh);
    held_.append(fresh);
    held_back_ = true;
}

// Lets the protocol handle the input and holds what it leaves. REQUIRES: held_ is empty.
void Connection::offer(std::string_view input) {
    asked_ = 0;
    is_turn_over_ = false;
    const std::size_t consumed = protocol_->on_input(input);
    CHECK(consumed <= input.size());
    held_.assign(input.substr(consumed));
    note_consumed(consumed);
}

void Connection::offer_held_input() {
    asked_ = 0;
    is_turn_over_ = false;
    const std::size_t consumed = protocol_->on_input(held_);
    CHECK(consumed <= held_.size());
    held_.erase(0, consumed);
    note_consumed(consumed);
    if (held_.empty()) release(held_);
}

void Connection::note_consumed(std::size_t consumed) {
    if (consumed > 0) request_timed_ = false;
    held_back_ = !held_.empty() && (is_turn_over_ || !may_go_on());
}

bool Connection::may_go_on() const {
    return !paused_ && !congested();
}

void Connection::report_end_of_input() {
    if (std::exchange(end_reported_, true) || state_ != State::open) return;
    protocol_->on_end_of_input();
}

void Connection::settle() {
    if (state_ == State::closed) return;
    send_all_there_is();
    if (state_ == State::open && held_back_ && may_go_on() && !is_turn_over_) {
        offer_held_input();
        send_all_there_is();
    }
    // Others have their turn before this connection handles more.
    if (state_ == State::open && held_back_ && may_go_on() && !std::exchange(awaits_turn_, true)) {
        set_.call_next_turn(*this);
    }
    if (state_ == State::open && end_received_ && !held_back_ && !paused_ &&
        !std::exchange(data_end_reported_, true)) {
        protocol_->on_end_of_data();
        send_all_there_is();
    }
    if (state_ == State::open && may_finish()) state_ = State::finishing;
    if (state_ == State::finishing && output_.empty() && transport_.finish_sending()) linger();
    if (state_ == State::lingering && end_received_) close();
    if (state_ == State::closed) return;
    report_if_finished();
    update_interest();
    update_timeouts();
}

// Lets the protocol go on with what it has to say as long as the socket takes it.
void Connection::send_all_there_is() {
    do {
        send_output();
    } while (output_.empty() && state_ == State::open && protocol_->on_output_sent());
}

// Sends once. What was sent is dropped when that is at least half of the buffer, so that every byte
// is moved at most once on average.
void Connection::send_output() {
    if (output_.empty() || state_ == State::closed) return;
    const auto result = transport_.send(std::string_view(output_).substr(sent_bytes_));
    if (result.status == IoStatus::failed) return close();
    if (result.bytes > 0) writing_.stop();
    sent_bytes_ += result.bytes;
    if (sent_bytes_ < output_.size() - sent_bytes_) return;
    output_.erase(0, std::exchange(sent_bytes_, 0));
    if (output_.empty() && output_.capacity() > kept_output_bytes_max) release(output_);
}

// Once its output is empty, a finishing connection has its farewell to send.
bool Connection::has_to_send() const {
    return !output_.empty() || state_ == State::finishing;
}

void Connection::linger() {
    release(held_);
    held_back_ = false;
    state_ = State::lingering;
    reading_.stop();
}

// Whether the conversation is over: nothing is owed, and nobody will or may ask for more.
bool Connection::may_finish() const {
    if (!protocol_->idle() || held_back_ || !output_.empty()) return false;
    return end_received_ || (leaving_ && held_.empty());
}

// Whether a request is being read, or something is still to be answered or sent.
bool Connection::owes_something() const {
    if (state_ == State::finishing) return !output_.empty();
    if (state_ != State::open) return false;
    return !fresh_.empty() || !held_.empty() || !output_.empty() || !protocol_->idle();
}

void Connection::report_if_finished() {
    if (!holds_up_ || owes_something()) return;
    holds_up_ = false;
    set_.finished_one();
}

bool Connection::wants_input() const {
    if (end_received_) return false;
    if (state_ == State::lingering) return true;
    if (state_ != State::open || congested()) return false;
    return !(paused_ || held_back_) || held_.size() < set_.limits().held_input_bytes_max;
}

void Connection::update_interest() {
    input_events_ = wants_input() ? transport_.receive_events() : 0;
    std::uint32_t wanted = input_events_;
    if (!end_reported_) wanted |= EPOLLRDHUP;
    if (has_to_send()) wanted |= transport_.send_events();
    if (wanted == interest_) return;
    interest_ = wanted;
    set_.loop().poller().change(transport_.descriptor(), wanted, *this);
}

void Connection::update_timeouts() {
    if (has_to_send()) {
        if (!writing_.running()) set_.start_timeout(Timeout::write, writing_);
    }
    if (state_ == State::lingering) {
        if (!reading_.running()) {
            set_.start_timeout(leaving_ ? Timeout::farewell : Timeout::linger, reading_);
        }
    } else if (state_ == State::open && transport_.is_shaking_hands()) {
        if (!reading_.running()) set_.start_timeout(Timeout::request, reading_);
    } else if (state_ == State::open && !held_back_ && protocol_->awaits_input()) {
        set_.start_timeout(Timeout::request, reading_);  // anew: what counts is that it goes on
        request_timed_ = true;
        return;
    } else if (state_ == State::open && !held_.empty() && !held_back_) {
        if (!std::exchange(request_timed_, true)) set_.start_timeout(Timeout::request, reading_);
        return;
    } else if (state_ == State::open && held_.empty() && output_.empty() && protocol_->idle()) {
        set_.start_timeout(Timeout::idle, reading_);
    } else {
        reading_.stop();
    }
    request_timed_ = false;
}

}  // namespace holdfast::net
