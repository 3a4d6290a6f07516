#include "net/connection.h"

#include <sys/epoll.h>

#include <utility>

#include "base/check.h"
#include "net/connection_set.h"

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

void Connection::drain() {
    if (std::exchange(draining_, true) || state_ != State::open) return;
    protocol_->on_drain();
    if (state_ == State::open && may_finish()) close();
}

void Connection::close() {
    if (state_ == State::closed) return;
    state_ = State::closed;
    reading_.stop();
    writing_.stop();
    set_.loop().poller().remove(transport_.descriptor());
    transport_.close();
    protocol_->on_closed();
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
    if (held_.empty() && !paused_ && !congested()) return offer(fresh);
    held_.append(fresh);
    held_back_ = true;
}

// Lets the protocol handle the input and holds what it leaves. REQUIRES: held_ is empty.
void Connection::offer(std::string_view input) {
    const std::size_t consumed = protocol_->on_input(input);
    CHECK(consumed <= input.size());
    if (consumed > 0) request_timed_ = false;
    held_.assign(input.substr(consumed));
    held_back_ = !held_.empty() && (paused_ || congested());
}

void Connection::offer_held_input() {
    const std::size_t consumed = protocol_->on_input(held_);
    CHECK(consumed <= held_.size());
    if (consumed > 0) request_timed_ = false;
    held_.erase(0, consumed);
    held_back_ = !held_.empty() && (paused_ || congested());
    if (held_.empty()) release(held_);
}

void Connection::report_end_of_input() {
    if (std::exchange(end_reported_, true) || state_ != State::open) return;
    protocol_->on_end_of_input();
}

void Connection::settle() {
    if (state_ == State::closed) return;
    send_all_there_is();
    while (state_ == State::open && held_back_ && !paused_ && !congested()) {
        offer_held_input();
        send_all_there_is();
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
    return end_received_ || (draining_ && held_.empty());
}

bool Connection::wants_input() const {
    if (end_received_) return false;
    if (state_ == State::lingering) return true;
    if (state_ != State::open || congested()) return false;
    return !paused_ || held_.size() < set_.limits().held_input_bytes_max;
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
        if (!reading_.running()) set_.start_timeout(Timeout::linger, reading_);
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
