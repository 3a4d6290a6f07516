#include "doors/redis/redis_protocol.h"

#include <fmt/format.h>

#include <utility>

namespace holdfast::doors::redis {

namespace {

// How many commands of one connection may be unanswered, and how many bytes of answers may wait for
// earlier ones or for a commit. Further input is not read meanwhile.
constexpr std::size_t owed_max = 1024;
constexpr std::size_t waiting_bytes_max = std::size_t{256} * 1024;

constexpr OwnWordName own_words[] = {
    {"multi", OwnWord::multi},     {"exec", OwnWord::exec},
    {"discard", OwnWord::discard}, {"watch", OwnWord::watch},
    {"unwatch", OwnWord::unwatch}, {"eval", OwnWord::eval},
    {"evalsha", OwnWord::evalsha}, {"holdfast.acquire", OwnWord::acquire},
};

std::optional<OwnWord> find_own_word(std::string_view name) {
    for (const OwnWordName& one : own_words) {
        if (is_word(name, one.name)) return one.word;
    }
    return std::nullopt;
}

// The answer to HOLDFAST.ACQUIRE: the fencing number, or null if the lock did not become free.
Reply acquired_reply(const core::Outcome& outcome) {
    if (outcome.kind == core::Outcome::Kind::granted) {
        return Reply::integer(
            static_cast<std::int64_t>(core::as_number(outcome.lease.token.fence)));
    }
    switch (outcome.refusal) {
        case core::Refusal::held:
        case core::Refusal::in_grace:
        case core::Refusal::timed_out:
        case core::Refusal::other_kind: return Reply::null();
        case core::Refusal::stopping:
            return Reply::error("ERR the server is about to end: ask again when it is back");
        case core::Refusal::denied:
            return Reply::error(fmt::format("NOPERM {}", rights::right_lost));
        default: return explain(outcome.refusal, "holdfast.acquire");
    }
}

}  // namespace

std::span<const OwnWordName> all_own_words() {
    return own_words;
}

RedisProtocol::RedisProtocol(net::Channel& channel, const RedisContext& context)
    : channel_(channel), door_(context.door), port_(context.port), loop_(context.loop) {
    state_.id = door_.enter();
    state_.is_admitted = door_.tokens().current()->is_open();
    if (!state_.is_admitted) call_timer(door_.options().auth_timeout);
}

std::size_t RedisProtocol::on_input(std::string_view input) {
    std::size_t consumed = 0;
    while (consumed < input.size()) {
        if (is_over_) return input.size();
        if (channel_.should_return()) break;
        if (is_held_up()) {
            channel_.pause();
            break;
        }
        const RespFrame frame = read_command(input.substr(consumed), command_);
        switch (frame.state) {
            case RespFrame::State::incomplete: return consumed;
            case RespFrame::State::broken: answer(Reply::error(frame.fault), true); break;
            case RespFrame::State::foreign:
                is_over_ = true;
                channel_.close_after_flush();
                break;
            case RespFrame::State::whole:
                consumed += frame.size;
                if (!command_.words.empty()) handle(command_.words);
                break;
        }
    }
    return consumed;
}

bool RedisProtocol::is_held_up() const {
    if (blocked_by_ != BlockedBy::nothing) return true;
    if (owed_.empty()) return false;
    return owed_.size() >= owed_max || waiting_bytes_ > waiting_bytes_max ||
           !channel_.has_room_to_wait();
}

void RedisProtocol::handle(Words words) {
    const std::optional<OwnWord> own = find_own_word(words[0]);
    const bool is_of_transaction = state_.is_admitted && handle_transaction(own, words);
    if (is_of_transaction) return;
    if (!queued_) {
        if (auto made = run_connection_command(state_, door_, words)) {
            by_.clear();  // another client may have logged in
            if (state_.is_admitted && !made->is_refusal) timer_.reset();
            if (made->is_refusal) {
                door_.tokens().current()->wrong_secrets().add(rights::Door::redis,
                                                              net::ClientHost(channel_).text());
                return answer_later(std::move(*made));
            }
            return answer(made->reply, made->is_last);
        }
        if (own == OwnWord::acquire) return acquire(words);
        if (own == OwnWord::watch) return watch(words);
    }
    const bool is_script = own == OwnWord::eval || own == OwnWord::evalsha;
    auto call = is_script ? read_script_call(words) : read_key_call(words);
    if (call) queue_or_ask(std::move(*call));
}

void RedisProtocol::answer(const Reply& reply, bool is_last) {
    is_over_ = is_over_ || is_last;
    if (!owed_.empty()) {
        Owed& owed = owed_.emplace_back(*this);
        append_reply(owed.text, reply, state_.version);
        count_bytes(owed, owed.text.size());
        owed.is_last = is_last;
        return;
    }
    append_reply(channel_.output(), reply, state_.version);
    if (is_last) channel_.close_after_flush();
}

// The password was wrong.
void RedisProtocol::answer_later(ConnectionAnswer answer) {
    refusal_ = std::move(answer.reply);
    blocked_by_ = BlockedBy::refusal;
    call_timer(door_.options().refusal_delay);
}

void RedisProtocol::call_timer(std::chrono::milliseconds delay) {
    if (!timer_) timer_ = std::make_unique<net::LoopTimer>(loop_, [this] { on_timer(); });
    timer_->call_at(net::EventLoop::Clock::now() + delay);
}

void RedisProtocol::on_timer() {
    if (auto refusal = std::exchange(refusal_, std::nullopt)) {
        blocked_by_ = BlockedBy::nothing;
        answer(*refusal);
        if (!state_.is_admitted) call_timer(door_.options().auth_timeout);
    } else {
        is_over_ = true;
        channel_.close_after_flush();
    }
    channel_.flush();
    go_on();
}

void RedisProtocol::append(std::string& out, const Owed& owed, const service::Response& response) {
    if (!response.failure.empty())
        return append_reply(out, Reply::error(fmt::format("ERR {}", response.failure)),
                            owed.version);
    if (owed.step) return append_reply(out, take_reply(*owed.step), owed.version);
    const Reply reply = owed.is_wait ? acquired_reply(response.outcome) : Reply::ok();
    append_reply(out, reply, owed.version);
}

void RedisProtocol::on_late(Owed& owed, const service::Response& response) {
    if (owed.is_wait) blocked_by_ = BlockedBy::nothing;
    append(owed.text, owed, response);
    owed.step.reset();
    count_bytes(owed, owed.text.size());
    send_answered();
    channel_.flush();
    go_on();
}

void RedisProtocol::send_answered() {
    while (!owed_.empty() && !owed_.front().text.empty()) {
        channel_.output().append(owed_.front().text);
        if (owed_.front().is_last) channel_.close_after_flush();
        count_bytes(owed_.front(), 0);
        owed_.pop_front();
    }
}

// The answer that is owed takes so many bytes now.
void RedisProtocol::count_bytes(Owed& owed, std::size_t bytes) {
    waiting_bytes_ += bytes - owed.bytes;
    channel_.count_waiting(static_cast<std::ptrdiff_t>(bytes) -
                           static_cast<std::ptrdiff_t>(owed.bytes));
    owed.bytes = bytes;
}

void RedisProtocol::go_on() {
    if (is_over_ || !is_held_up()) channel_.resume();
}

// The last command waits for a lock, and is not to wait any longer.
void RedisProtocol::end_wait(std::string_view error) {
    if (blocked_by_ != BlockedBy::wait) return;
    port_.abandon(owed_.back().promise);
    append_reply(owed_.back().text, Reply::error(error), owed_.back().version);
    blocked_by_ = BlockedBy::nothing;
    send_answered();
    channel_.flush();
    go_on();
}

// A peer that has stopped sending while it waits for a lock counts as dead: no lock is granted to
// it.
void RedisProtocol::on_end_of_input() {
    is_ended_ = true;
    end_wait("ERR the client has stopped sending");
}

void RedisProtocol::on_drain() {
    end_wait("ERR the server is about to end: ask again when it is back");
}

void RedisProtocol::on_read_timeout() {
    answer(Reply::error("ERR Protocol error: a command was not whole in time"), true);
}

void RedisProtocol::on_closed() {
    timer_.reset();
    for (Owed& owed : owed_) {
        if (owed.text.empty()) port_.abandon(owed.promise);
        count_bytes(owed, 0);
    }
    owed_.clear();
}

}  // namespace holdfast::doors::redis
