#include "net/loop/connection.h"

#include <sys/epoll.h>

#include <utility>

#include "base/check.h"
#include "net/loop/connection_set.h"

namespace holdfast::net {

namespace {

// An empty output buffer of at most this size is reused for the next answer.
constexpr std::size_t reused_output_bytes_max = std::size_t{4} * 1024;

using Timeout = ConnectionSet::Timeout;

// Empties the text and frees its memory. Assigning an empty text would not free it.
void release(std::string& text) {
    std::string().swap(text);
}

}  // namespace

Connection::Connection(ConnectionSet& set, Transport transport, std::shared_ptr<const Peer> peer)
    : set_(set), transport_(std::move(transport)), peer_(std::move(peer)) {}

Connection::~Connection() {
    set_.loop().unschedule(*this);
    if (state_ != State::closed && protocol_) protocol_->on_closed();
}

bool Connection::start(std::unique_ptr<Protocol> protocol) {
    protocol_ = std::move(protocol);
    input_events_ = transport_.receive_events();
    interest_ = input_events_ | EPOLLRDHUP;
    watch(true);
    if (!is_watched_) return false;
    update_timeouts();
    return true;
}

bool Connection::begin_drain() {
    if (draining()) return delays_end_;
    shutdown_ = Shutdown::draining;
    if (state_ == State::open) protocol_->on_drain();
    delays_end_ = owes_something();
    return delays_end_;
}

void Connection::drain() {
    begin_drain();
    shutdown_ = Shutdown::leaving;
    if (state_ == State::open && may_finish()) return close();
    if (state_ == State::lingering) set_.start_timeout(Timeout::farewell, reading_);
}

void Connection::close() {
    if (state_ == State::closed) return;
    state_ = State::closed;
    reading_.stop();
    writing_.stop();
    watch(false);
    transport_.close();
    protocol_->on_closed();
    CHECK(waiting_bytes_ == 0);
    report_if_finished();
    set_.loop().schedule(*this);
}

void Connection::on_timeout(TimeoutEntry& entry) {
    entry.stop();
    const bool is_slow_request =
        &entry == &reading_ && state_ == State::open && reading_for_ == Reading::request;
    if (!is_slow_request) return close();
    protocol_->on_read_timeout();
    decide_next();
}

void Connection::flush() {
    set_.loop().schedule(*this);
}

void Connection::close_after_flush() {
    if (state_ != State::open) return;
    state_ = State::finishing;
    set_.loop().schedule(*this);
}

void Connection::finish_output() {
    if (output_end_ == OutputEnd::none) output_end_ = OutputEnd::wanted;
    set_.loop().schedule(*this);
}

void Connection::cut() {
    is_cut_ = true;
    set_.loop().schedule(*this);
}

std::string Connection::client_address() const {
    return peer_ ? peer_->address : transport_.peer_address();
}

void Connection::resume() {
    paused_ = false;
    set_.loop().schedule(*this);
}

bool Connection::congested() const {
    return output_.size() - sent_bytes_ > set_.limits().output_bytes_max;
}

// Of many requests, only every fourth reads the clock: that is a fortieth of the time of a small one.
bool Connection::should_return() {
    if (congested()) return true;
    if (++asked_ != 2 && asked_ % 4 != 0) return false;
    const auto now = EventLoop::Clock::now();
    if (asked_ == 2) turn_end_ = now + set_.limits().turn_share;
    if (now < turn_end_) return false;
    turn_ = Turn::over;
    return true;
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
    turn_ = Turn::ours;
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
    } else if ((events & EPOLLERR) != 0) {
        close();
    } else if ((events & EPOLLHUP) != 0) {
        is_hung_up_ = protocol_->wants_all_input();
        if (!is_hung_up_) return close();
        report_end_of_input();
    } else if ((events & EPOLLRDHUP) != 0) {
        report_end_of_input();
    }
    set_.loop().schedule(*this);
}

void Connection::on_end_of_turn() {
    if (state_ == State::closed) return set_.destroy(*this);
    if (is_cut_) return close();
    if (!fresh_.empty()) {
        take_input(std::exchange(fresh_, {}));
        lets_others_go_first_ = true;
        return set_.loop().schedule(*this);
    }
    // Grants that the requests of this connection made possible are scheduled by now: they leave first.
    if (std::exchange(lets_others_go_first_, false)) return set_.loop().schedule(*this);
    decide_next();
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
        case IoStatus::ended:
            report_end_of_input();
            if (!has_received_all()) peer_input_ = PeerInput::received;
            return;
        case IoStatus::failed: return close();
    }
}

void Connection::take_input(std::string_view fresh) {
    if (state_ != State::open) return;
    if (held_.empty() && may_go_on()) return offer(fresh);
    held_.append(fresh);
    held_back_ = true;
}

// Lets the protocol handle the input and holds the rest. REQUIRES: held_ is empty.
void Connection::offer(std::string_view input) {
    asked_ = 0;
    turn_ = Turn::ours;
    const std::size_t consumed = protocol_->on_input(input);
    CHECK(consumed <= input.size());
    if (consumed < input.size()) held_.assign(input.substr(consumed));
    note_consumed(consumed);
}

// The same with the input in held_.
void Connection::offer_held_input() {
    asked_ = 0;
    const std::size_t consumed = protocol_->on_input(held_);
    CHECK(consumed <= held_.size());
    held_.erase(0, consumed);
    note_consumed(consumed);
    if (held_.empty()) release(held_);
}

void Connection::note_consumed(std::size_t consumed) {
    if (consumed > 0) reading_for_ = Reading::other;
    held_back_ = !held_.empty() && (turn_ == Turn::over || !may_go_on());
}

bool Connection::may_go_on() const {
    return !paused_ && !congested();
}

bool Connection::has_input_to_offer() const {
    return state_ == State::open && held_back_ && may_go_on();
}

void Connection::report_end_of_input() {
    if (peer_input_ != PeerInput::flowing) return;
    peer_input_ = PeerInput::ending;
    if (state_ == State::open) protocol_->on_end_of_input();
}

void Connection::report_end_of_data() {
    if (state_ != State::open || held_back_ || paused_) return;
    if (peer_input_ != PeerInput::received) return;
    peer_input_ = PeerInput::consumed;
    protocol_->on_end_of_data();
    send_all_there_is();
}

void Connection::decide_next() {
    if (state_ == State::closed) return;
    send_all_there_is();
    if (has_input_to_offer() && turn_ == Turn::ours) {
        offer_held_input();
        send_all_there_is();
    }
    // Other connections have their turn before this one handles more.
    if (has_input_to_offer() && turn_ != Turn::booked) {
        turn_ = Turn::booked;
        set_.call_next_turn(*this);
    }
    report_end_of_data();
    if (state_ == State::open && may_finish()) state_ = State::finishing;
    if (state_ == State::finishing && output_.empty() && transport_.finish_sending()) linger();
    if (state_ == State::lingering && has_received_all()) close();
    if (is_hung_up_ && peer_input_ == PeerInput::consumed) close();
    if (state_ == State::closed) return;
    report_if_finished();
    update_interest();
    if (state_ != State::closed) update_timeouts();
}

// Lets the protocol produce more output as long as the socket accepts all of it.
void Connection::send_all_there_is() {
    do {
        send_output();
    } while (output_.empty() && state_ == State::open && protocol_->on_output_sent());
    if (output_end_ != OutputEnd::wanted || !output_.empty() || state_ != State::open) return;
    if (transport_.finish_sending()) output_end_ = OutputEnd::sent;
}

// Sends once. Sent bytes are erased when they are at least half of the buffer, so that every byte
// is moved at most once on average.
void Connection::send_output() {
    if (output_.empty() || state_ == State::closed) return;
    const auto result = transport_.send(std::string_view(output_).substr(sent_bytes_));
    if (result.status == IoStatus::failed) return close();
    if (result.bytes > 0) writing_.stop();
    sent_bytes_ += result.bytes;
    if (sent_bytes_ == output_.size()) {
        sent_bytes_ = 0;
        output_.capacity() > reused_output_bytes_max ? release(output_) : output_.clear();
    } else if (sent_bytes_ >= output_.size() - sent_bytes_) {
        output_.erase(0, std::exchange(sent_bytes_, 0));
    }
}

// When the output is empty, its end may still be to send.
bool Connection::has_to_send() const {
    if (state_ == State::finishing || !output_.empty()) return true;
    return state_ == State::open && output_end_ == OutputEnd::wanted;
}

void Connection::linger() {
    release(held_);
    held_back_ = false;
    state_ = State::lingering;
    reading_.stop();
}

// Whether the conversation is over: nothing is owed, and no further request can or may come.
bool Connection::may_finish() const {
    if (!protocol_->idle() || held_back_ || !output_.empty()) return false;
    return has_received_all() || (shutdown_ == Shutdown::leaving && held_.empty());
}

// Whether a request is being read, or something is still to be answered or sent.
bool Connection::owes_something() const {
    if (state_ == State::finishing) return !output_.empty();
    if (state_ != State::open) return false;
    return !fresh_.empty() || !held_.empty() || !output_.empty() || !protocol_->idle();
}

void Connection::report_if_finished() {
    if (!delays_end_ || owes_something()) return;
    delays_end_ = false;
    set_.finished_one();
}

bool Connection::wants_input() const {
    if (has_received_all()) return false;
    if (state_ == State::lingering) return true;
    if (state_ != State::open || congested()) return false;
    return !(paused_ || held_back_) || held_.size() < set_.limits().held_input_bytes_max;
}

void Connection::update_interest() {
    input_events_ = wants_input() ? transport_.receive_events() : 0;
    std::uint32_t wanted = input_events_;
    if (peer_input_ == PeerInput::flowing) wanted |= EPOLLRDHUP;
    if (has_to_send()) wanted |= transport_.send_events();
    // EPOLLHUP is reported for ever, asked or not. While nobody wants the input that is left, the
    // descriptor is not watched.
    const bool is_deaf = is_hung_up_ && input_events_ == 0;
    if (is_deaf == is_watched_) {
        interest_ = wanted;
        watch(!is_deaf);
        if (!is_deaf && !is_watched_) close();
        return;
    }
    if (wanted == interest_ || is_deaf) return;
    interest_ = wanted;
    set_.loop().poller().change(transport_.descriptor(), wanted, *this);
}

// Has the poller watch for interest_, or not at all.
void Connection::watch(bool is_wanted) {
    if (is_wanted == is_watched_) return;
    auto& poller = set_.loop().poller();
    if (is_wanted) {
        is_watched_ = poller.add(transport_.descriptor(), interest_, *this);
    } else {
        poller.remove(transport_.descriptor());
        is_watched_ = false;
    }
}

void Connection::update_timeouts() {
    if (has_to_send()) {
        if (!writing_.running()) set_.start_timeout(Timeout::write, writing_);
    }
    if (state_ == State::lingering) {
        if (!reading_.running()) {
            const bool is_leaving = shutdown_ == Shutdown::leaving;
            set_.start_timeout(is_leaving ? Timeout::farewell : Timeout::linger, reading_);
        }
    } else if (state_ == State::open && transport_.is_shaking_hands()) {
        if (!reading_.running()) set_.start_timeout(Timeout::request, reading_);
    } else if (state_ == State::open && !held_back_ && protocol_->awaits_input()) {
        set_.start_timeout(Timeout::request, reading_);  // again: each piece has its own time
        reading_for_ = Reading::request;
        return;
    } else if (state_ == State::open && !held_.empty() && !held_back_) {
        if (reading_for_ != Reading::request) set_.start_timeout(Timeout::request, reading_);
        reading_for_ = Reading::request;
        return;
    } else if (state_ == State::open && held_.empty() && output_.empty() && protocol_->idle()) {
        set_.start_timeout(Timeout::idle, reading_);
    } else {
        reading_.stop();
    }
    reading_for_ = Reading::other;
}

}  // namespace holdfast::net
