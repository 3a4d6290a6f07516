#include "doors/dflockd/dflockd_protocol.h"

#include <utility>

#include "doors/dflockd/dflockd_answer.h"
#include "service/doors.h"

namespace holdfast::doors::dflockd {

namespace {

constexpr std::string_view fault_line = "error\n";
constexpr std::string_view draining_line = "error_draining\n";

// Requests of one connection that are on their way. What comes after them is not read.
constexpr std::size_t owed_max = 128;

}  // namespace

DflockdProtocol::DflockdProtocol(net::Channel& channel, const DflockdPlace& place)
    : channel_(channel),
      door_(place.door),
      port_(place.port),
      loop_(place.loop),
      owner_(owner_name(place.door.enter())) {
    if (!door_.gate().is_open()) call_gate_timer(door_.options().auth_timeout);
}

DflockdProtocol::~DflockdProtocol() {
    door_.leave();
}

std::size_t DflockdProtocol::on_input(std::string_view input) {
    std::size_t consumed = 0;
    while (consumed < input.size()) {
        if (is_over_) return input.size();
        if (channel_.should_return()) break;
        if (is_held_up()) {
            channel_.pause();
            break;
        }
        const Frame frame = read_frame(input.substr(consumed));
        if (frame.state == Frame::State::incomplete) break;
        if (frame.state != Frame::State::whole) {
            answer(fault_line, true);
        } else if (take(frame)) {
            consumed += frame.size;
        }
    }
    return consumed;
}

bool DflockdProtocol::is_held_up() const {
    if (is_refused_ || opening_) return true;
    return !owed_.empty() && (is_waiting_ || is_stats_next_ || owed_.size() >= owed_max);
}

bool DflockdProtocol::take(const Frame& frame) {
    const auto request = parse_request(frame);
    if (!is_admitted_ && !admit(request)) return true;
    if (!request) return answer(fault_line), true;
    is_stats_next_ = request->verb == Verb::stats;
    if (is_stats_next_ && !owed_.empty()) return false;
    switch (request->verb) {
        case Verb::ping: return answer("ok\n"), true;
        case Verb::auth:
            answer(std::exchange(has_shown_secret_, true) ? fault_line : "ok\n");
            return true;
        default: return ask(*request);
    }
}

// On a protected server the first request shows the secret.
bool DflockdProtocol::admit(const std::optional<DflockdRequest>& request) {
    const DflockdGate& gate = door_.gate();
    const bool has_secret = request && request->verb == Verb::auth && gate.admits(request->secret);
    is_admitted_ = has_secret || gate.is_open();
    if (is_admitted_) {
        gate_timer_.reset();
    } else {
        refuse();
    }
    return is_admitted_;
}

void DflockdProtocol::refuse() {
    is_refused_ = true;
    call_gate_timer(door_.options().refusal_delay);
}

void DflockdProtocol::call_gate_timer(std::chrono::milliseconds delay) {
    if (!gate_timer_) {
        gate_timer_ = std::make_unique<net::LoopTimer>(loop_, [this] { on_gate_timer(); });
    }
    gate_timer_->call_at(net::EventLoop::Clock::now() + delay);
}

// A peer whose time is over hears nothing: perhaps it has not even shaken hands, and then an answer
// would wait for that.
void DflockdProtocol::on_gate_timer() {
    if (std::exchange(is_refused_, false)) {
        answer("error_auth\n", true);
    } else {
        is_over_ = true;
        channel_.close_after_flush();
    }
    channel_.flush();
    go_on();
}

bool DflockdProtocol::ask(const DflockdRequest& request) {
    const bool uses_session =
        request.verb == Verb::lock || request.verb == Verb::enqueue || request.verb == Verb::wait;
    if (uses_session && !session_) {
        if (!has_no_session_) open_session();
        if (opening_) return false;
        if (std::exchange(has_no_session_, false)) return answer(fault_line), true;
    }
    if (const service::Response* response = port_.submit(to_service(request))) {
        const bool is_next = owed_.empty();
        std::string& out = is_next ? channel_.output() : owed_.emplace_back(*this).text;
        append(out, request.verb, *response);
        return true;
    }
    Owed& owed = owed_.emplace_back(*this);
    owed.verb = request.verb;
    owed.promise = port_.await(service::AnswerPointer(&owed));
    is_waiting_ = uses_session && patience(request) > core::Duration::zero();
    if (is_waiting_ && is_ended_) leave_if_blocked();
    return true;
}

// A connection that is about to close waits for nothing.
core::Duration DflockdProtocol::patience(const DflockdRequest& request) const {
    return channel_.draining() ? core::Duration::zero() : request.timeout;
}

core::AcquireRequest DflockdProtocol::to_acquire(const DflockdRequest& request) const {
    return {.scope = request.scope,
            .owner = {.door = service::dflockd_door, .name = owner_},
            .limit = request.limit,
            .ttl = request.lease.value_or(door_.options().default_lease),
            .wait = patience(request),
            .session = session_};
}

service::Request DflockdProtocol::to_service(const DflockdRequest& request) const {
    switch (request.verb) {
        case Verb::lock: return to_acquire(request);
        case Verb::enqueue: return service::Enqueue{.request = to_acquire(request)};
        case Verb::wait:
            return service::Wait{
                .session = session_, .scope = request.scope, .timeout = patience(request)};
        case Verb::release:
            return core::ReleaseRequest{.token = request.token, .scope = request.scope};
        case Verb::renew:
            return core::RenewRequest{.token = request.token,
                                      .scope = request.scope,
                                      .ttl = request.lease.value_or(door_.options().default_lease)};
        case Verb::stats:
        case Verb::ping:
        case Verb::auth: break;
    }
    // Of the holders only the first of a lock is shown, and how many permits are taken.
    return service::List{
        .query = {.limit = stats_locks_max + 1, .holders_per_lock_max = 1, .with_idle = true}};
}

void DflockdProtocol::open_session() {
    const service::OpenSession request{.owner = {.door = service::dflockd_door, .name = owner_}};
    if (const service::Response* response = port_.submit(request)) {
        take_session(*response);
    } else {
        opening_ = port_.await(service::answer_by([this](const service::Response& late) {
            opening_.reset();
            take_session(late);
            go_on();
        }));
    }
}

void DflockdProtocol::take_session(const service::Response& response) {
    session_ = response.session;
    has_no_session_ = !session_;
}

void DflockdProtocol::end_session() {
    if (!session_) return;
    // A server that is restarted gives its clients time to come back with their tokens.
    const bool is_kept = !door_.options().releases_on_disconnect || channel_.draining();
    using Leases = core::LockTable::SessionLeases;
    const service::EndSession request{.session = std::exchange(session_, {}),
                                      .leases = is_kept ? Leases::keep : Leases::release};
    if (port_.submit(request) == nullptr) {
        port_.await(service::answer_by([](const service::Response&) {}));
    }
}

// Whoever has stopped sending and waits for a lock is taken for dead: with its session ends the
// wait. But perhaps the request has only not reached the service yet, or its answer us, and the
// peer is one that closes one half and reads its answers. Something that is asked behind the
// request tells.
void DflockdProtocol::leave_if_blocked() {
    if (probe_) port_.abandon(*std::exchange(probe_, std::nullopt));  // was for an earlier one
    if (port_.submit(service::Find{}) != nullptr) return end_session();
    // That comes when all that was asked before has been looked at: what is unanswered then waits.
    probe_ = port_.await(service::answer_by([this](const service::Response&) {
        probe_.reset();
        if (is_waiting_) end_session();
    }));
}

void DflockdProtocol::answer(std::string_view line, bool is_last) {
    is_over_ = is_over_ || is_last;
    if (!owed_.empty()) {
        Owed& owed = owed_.emplace_back(*this);
        owed.text = line;
        owed.is_last = is_last;
        return;
    }
    channel_.output().append(line);
    if (is_last) channel_.close_after_flush();
}

void DflockdProtocol::append(std::string& out, Verb verb, const service::Response& response) {
    if (verb == Verb::stats) return append_stats(out, door_.connections(), response);
    append_answer(out, verb, response, door_.options().waiters_per_lock_max);
    if (response.outcome.refusal != core::Refusal::unknown_session) return;
    // It was ended because the peer seems dead: what that said before is not looked at. Or the
    // service has begun anew after a failure of its store, and knows none of its sessions.
    is_over_ = is_over_ || is_ended_;
    session_ = {};
}

void DflockdProtocol::on_late(Owed& owed, const service::Response& response) {
    if (&owed == &owed_.back()) is_waiting_ = false;
    if (&owed == &owed_.front()) {
        append(channel_.output(), owed.verb, response);
        owed_.pop_front();
    } else {
        append(owed.text, owed.verb, response);
    }
    send_answered();
    channel_.flush();
    go_on();
}

void DflockdProtocol::send_answered() {
    while (!owed_.empty() && !owed_.front().text.empty()) {
        channel_.output().append(owed_.front().text);
        if (owed_.front().is_last) channel_.close_after_flush();
        owed_.pop_front();
    }
}

void DflockdProtocol::go_on() {
    if (is_over_ || !is_held_up()) channel_.resume();
}

void DflockdProtocol::on_end_of_input() {
    is_ended_ = true;
    if (is_waiting_) leave_if_blocked();
}

void DflockdProtocol::on_drain() {
    if (!is_waiting_) return;
    port_.abandon(owed_.back().promise);
    owed_.back().text = draining_line;
    is_waiting_ = false;
    send_answered();
    channel_.flush();
    go_on();
}

void DflockdProtocol::on_read_timeout() {
    answer(fault_line, true);
}

void DflockdProtocol::on_closed() {
    gate_timer_.reset();
    if (opening_) port_.abandon(*opening_);
    if (probe_) port_.abandon(*probe_);
    for (const Owed& owed : owed_) {
        if (owed.text.empty()) port_.abandon(owed.promise);
    }
    owed_.clear();
    end_session();
}

}  // namespace holdfast::doors::dflockd
