#include "doors/dflockd/dflockd_protocol.h"

#include <utility>

#include "doors/dflockd/dflockd_answer.h"
#include "rights/asker.h"
#include "service/doors.h"

namespace holdfast::doors::dflockd {

namespace {

constexpr std::string_view fault_line = "error\n";
constexpr std::string_view draining_line = "error_draining\n";

// How many requests of one connection may be unanswered. Further input is not read meanwhile.
constexpr std::size_t owed_max = 128;

// `error_denied lock prod`: the right, and what the client would need it on.
std::string denied_line(const rights::Denial& denial) {
    return "error_denied " + std::string(rights::to_text(denial.right)) + ' ' + denial.scope + '\n';
}

}  // namespace

DflockdProtocol::DflockdProtocol(net::Channel& channel, const DflockdContext& context)
    : channel_(channel),
      door_(context.door),
      port_(context.port),
      loop_(context.loop),
      owner_(owner_name(context.door.enter())) {
    if (!door_.tokens().current()->is_open()) call_gate_timer(door_.options().auth_timeout);
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
        } else if (handle(frame)) {
            consumed += frame.size;
        }
    }
    return consumed;
}

bool DflockdProtocol::is_held_up() const {
    if (admission_ == Admission::refused || session_state_ == SessionState::opening) return true;
    return !owed_.empty() && (blocked_by_ != BlockedBy::nothing || owed_.size() >= owed_max);
}

bool DflockdProtocol::handle(const Frame& frame) {
    const auto request = parse_request(frame);
    if (admission_ == Admission::pending && !admit(request)) return true;
    if (!request) return answer(fault_line), true;
    blocked_by_ = request->verb == Verb::stats ? BlockedBy::stats : BlockedBy::nothing;
    if (blocked_by_ == BlockedBy::stats && !owed_.empty()) return false;
    if (client_ && is_denied(*request)) return true;
    switch (request->verb) {
        case Verb::ping: return answer("ok\n"), true;
        case Verb::auth: {
            const Admission before = std::exchange(admission_, Admission::authenticated);
            return answer(before == Admission::authenticated ? fault_line : "ok\n"), true;
        }
        default: return ask(*request);
    }
}

// On a protected server the first request shows the secret. A token that may not even look at
// anything at this door is told so, and the connection closes.
bool DflockdProtocol::admit(const std::optional<DflockdRequest>& request) {
    constexpr rights::Door door = rights::Door::dflockd;
    const auto tokens = door_.tokens().current();
    if (request && request->verb == Verb::auth) {
        client_ = tokens->find(request->secret);
        if (!client_ && !tokens->is_empty()) {
            tokens->wrong_secrets().add(door, net::ClientHost(channel_).text());
        }
    }
    if (client_ && !client_->may_something(rights::Right::read, door)) {
        const auto denial = rights::refuse_anything(*client_, rights::Right::read, door);
        client_.reset();
        answer(denied_line(denial), true);
        return false;
    }
    if (client_ || tokens->is_open()) {
        admission_ = Admission::admitted;
        gate_timer_.reset();
        return true;
    }
    admission_ = Admission::refused;
    call_gate_timer(door_.options().refusal_delay);
    return false;
}

// Answers a request that the client has no right to. `stats` shows what the client may read.
bool DflockdProtocol::is_denied(const DflockdRequest& request) {
    using rights::Right;
    constexpr rights::Door door = rights::Door::dflockd;
    if (request.verb == Verb::ping || request.verb == Verb::auth) return false;
    std::optional<rights::Denial> denial;
    if (request.verb != Verb::stats) {
        denial = rights::deny(client_.get(), {Right::lock, door, request.scope});
    } else if (!client_->may_something(Right::read, door)) {
        denial = rights::refuse_anything(*client_, Right::read, door);
    }
    if (!denial) return false;
    answer(denied_line(*denial));
    return true;
}

void DflockdProtocol::call_gate_timer(std::chrono::milliseconds delay) {
    if (!gate_timer_) {
        gate_timer_ = std::make_unique<net::LoopTimer>(loop_, [this] { on_gate_timer(); });
    }
    gate_timer_->call_at(net::EventLoop::Clock::now() + delay);
}

// A peer that has shown no secret in time is not answered: perhaps its TLS handshake is not even
// done, and an answer would wait for that.
void DflockdProtocol::on_gate_timer() {
    if (admission_ == Admission::refused) {
        admission_ = Admission::pending;
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
    if (uses_session && session_state_ != SessionState::open) {
        if (session_state_ == SessionState::none) open_session();
        if (session_state_ == SessionState::opening) return false;
        if (session_state_ == SessionState::failed) {
            session_state_ = SessionState::none;
            return answer(fault_line), true;
        }
    }
    if (const service::Response* response = port_.submit(to_service(request), by(), allowed())) {
        const bool is_next = owed_.empty();
        std::string& out = is_next ? channel_.output() : owed_.emplace_back(*this).text;
        append(out, request.verb, *response);
        return true;
    }
    Owed& owed = owed_.emplace_back(*this);
    owed.verb = request.verb;
    owed.promise = port_.await(service::AnswerPointer(&owed));
    if (uses_session && patience(request) > core::Duration::zero()) {
        blocked_by_ = BlockedBy::wait;
        if (is_ended_) leave_if_blocked();
    }
    return true;
}

// Who asks. REQUIRES: the peer is admitted; from then on it stays the same.
std::string_view DflockdProtocol::by() {
    if (by_.empty()) {
        rights::set_asker(by_, client_.get(), rights::Door::dflockd,
                          net::ClientHost(channel_).text());
    }
    return by_;
}

// What the peer may lock. REQUIRES: as by().
const service::AllowedScopes& DflockdProtocol::allowed() {
    if (client_ && !allowed_) {
        allowed_ = rights::allowed_to(client_.get(), rights::Right::lock, rights::Door::dflockd);
    }
    return allowed_;
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
    // The answer shows the first holder of each lock, and how many holders there are.
    return service::List{
        .query = {.limit = stats_locks_max + 1,
                  .holders_per_lock_max = 1,
                  .with_idle = true,
                  .filter = rights::readable_by(client_.get(), rights::Door::dflockd)}};
}

void DflockdProtocol::open_session() {
    const service::OpenSession request{.owner = {.door = service::dflockd_door, .name = owner_}};
    if (const service::Response* response = port_.submit(request, by())) {
        return set_session(*response);
    }
    session_state_ = SessionState::opening;
    opening_ = port_.await(service::answer_by([this](const service::Response& late) {
        set_session(late);
        go_on();
    }));
}

void DflockdProtocol::set_session(const service::Response& response) {
    session_ = response.session;
    session_state_ = session_ ? SessionState::open : SessionState::failed;
}

void DflockdProtocol::end_session() {
    if (session_state_ != SessionState::open) return;
    session_state_ = SessionState::none;
    // When the server restarts, clients may come back with their tokens. When another node that has
    // passed this connection on is lost, the client may still be at work, and does not know yet.
    const bool is_kept =
        !door_.options().releases_on_disconnect || channel_.draining() || channel_.is_client_lost();
    using Leases = core::LockTable::SessionLeases;
    const service::EndSession request{.session = session_,
                                      .leases = is_kept ? Leases::keep : Leases::release};
    if (port_.submit(request) == nullptr) {
        port_.await(service::answer_by([](const service::Response&) {}));
    }
}

// Ends the session if the last request waits for a lock: the peer sends no more and counts as dead.
//
// But some peers close their sending half and then read their answers, and perhaps the request has
// not reached the service yet, or its answer has not come back. So a probe is submitted after the
// request: when the probe is answered, everything before it was decided, and a request that is
// still unanswered waits for a lock.
void DflockdProtocol::leave_if_blocked() {
    if (probe_) port_.abandon(*std::exchange(probe_, std::nullopt));  // of an earlier request
    if (port_.submit(service::Find{}) != nullptr) return end_session();
    probe_ = port_.await(service::answer_by([this](const service::Response&) {
        probe_.reset();
        if (blocked_by_ == BlockedBy::wait) end_session();
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
    append_answer(out, verb, response);
    if (response.outcome.refusal != core::Refusal::unknown_session) return;
    // Either the session was ended because the peer seems dead, and then the rest of its input is
    // ignored. Or the service has recovered after a failure of its store and lost its sessions.
    is_over_ = is_over_ || is_ended_;
    if (session_state_ == SessionState::open) session_state_ = SessionState::none;
}

void DflockdProtocol::on_late(Owed& owed, const service::Response& response) {
    if (&owed == &owed_.back()) end_wait();
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

// The answer of the last request has come. A `stats` that waits goes on waiting.
void DflockdProtocol::end_wait() {
    if (blocked_by_ == BlockedBy::wait) blocked_by_ = BlockedBy::nothing;
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
    if (blocked_by_ == BlockedBy::wait) leave_if_blocked();
}

void DflockdProtocol::on_drain() {
    if (blocked_by_ != BlockedBy::wait) return;
    port_.abandon(owed_.back().promise);
    owed_.back().text = draining_line;
    end_wait();
    send_answered();
    channel_.flush();
    go_on();
}

void DflockdProtocol::on_read_timeout() {
    answer(fault_line, true);
}

void DflockdProtocol::on_closed() {
    gate_timer_.reset();
    if (session_state_ == SessionState::opening) port_.abandon(opening_);
    if (probe_) port_.abandon(*probe_);
    for (const Owed& owed : owed_) {
        if (owed.text.empty()) port_.abandon(owed.promise);
    }
    owed_.clear();
    end_session();
}

}  // namespace holdfast::doors::dflockd
