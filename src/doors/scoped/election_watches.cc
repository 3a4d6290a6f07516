#include "doors/scoped/election_watches.h"

#include <algorithm>
#include <utility>

#include "doors/answers/late_answer.h"
#include "doors/scoped/scoped_answer.h"
#include "rights/denial.h"

namespace holdfast::doors::scoped {

namespace {

// A reader may have lost the right since it has begun to watch.
rights::Need need_to_read(const std::string& name) {
    return {rights::Right::read, rights::Door::http, core::Scope::named(name)};
}

}  // namespace

ElectionWatches::ElectionWatches(const service::ElectionReader::Parts& parts, net::EventLoop& loop,
                                 const service::Clock& clock)
    : parts_(parts),
      loop_(loop),
      clock_(clock),
      timer_(loop, [this] { on_timer(); }),
      streams_(loop, [this] { keep_alive(); }) {}

void ElectionWatches::open(const LookAtElection& request, const rights::Token* client,
                           net::HttpReply& reply) {
    if (request.is_stream) return open_stream(request, client, reply);
    open_poll(request, client, reply);
}

void ElectionWatches::open_poll(const LookAtElection& request, const rights::Token* client,
                                net::HttpReply& reply) {
    const auto wait = is_stopping_ ? std::chrono::milliseconds{0} : request.wait;
    const auto poll = polls_.insert(polls_.end(), Poll{.name = request.name,
                                                       .client = rights::keep(client),
                                                       .reply = {},
                                                       .due = loop_.now() + wait,
                                                       .open = {}});
    poll->reply = reply.defer([this, poll] { polls_.erase(poll); });
    const bool has_seen_state = request.after.has_value();
    service::ElectionReader::Listener listener;
    listener.on_state = [this, poll, has_seen_state, is_first = true](
                            const service::Election& /*election*/, bool has_changed) mutable {
        poll->has_state = true;
        // A client that has seen no state is told what comes next.
        const bool is_news = has_changed && (has_seen_state || !is_first);
        is_first = false;
        if (is_news || poll->due <= loop_.now()) answer(poll);
    };
    listener.on_failure = [this, poll](const service::Response& failure) {
        std::string body;
        const int status = append_answer(body, LookAtElection{}, failure, clock_);
        answers::send_json(poll->reply, status, body);
        polls_.erase(poll);
    };
    poll->open.reader =
        service::ElectionReader::open(parts_, request.name, request.after, std::move(listener));
    if (poll->due >= next_due_) return;
    next_due_ = poll->due;
    timer_.call_at(next_due_);
}

// REQUIRES: its state is known.
void ElectionWatches::answer(Polls::iterator poll) {
    // As it is now: a client that comes back with this position asks for little.
    std::string body;
    const auto denial = rights::deny(poll->client.get(), need_to_read(poll->name));
    const int status = denial ? append_denial(body, *denial) : 200;
    if (!denial) {
        poll->open.reader->election().append_json(body, clock_);
        body += '\n';
    }
    answers::send_json(poll->reply, status, body);
    polls_.erase(poll);
}

// A poll that is due and knows no state yet is answered when it does.
void ElectionWatches::on_timer() {
    const auto now = loop_.now();
    next_due_ = net::EventLoop::TimePoint::max();
    for (auto poll = polls_.begin(); poll != polls_.end();) {
        const auto one = poll++;
        if (one->due > now) {
            next_due_ = std::min(next_due_, one->due);
        } else if (one->has_state) {
            answer(one);
        }
    }
    if (next_due_ != net::EventLoop::TimePoint::max()) timer_.call_at(next_due_);
}

void ElectionWatches::begin_stop() {
    is_stopping_ = true;
    for (Poll& poll : polls_) poll.due = loop_.now();
    on_timer();
}

void ElectionWatches::open_stream(const LookAtElection& request, const rights::Token* client,
                                  net::HttpReply& reply) {
    Streams::Stream* const stream =
        streams_.open({.name = request.name, .client = rights::keep(client), .open = {}}, reply);
    if (stream == nullptr) return;
    stream->reply.send(": who leads, now and after each change\n\n");
    service::ElectionReader::Listener listener;
    listener.on_state = [this, stream](const service::Election& election, bool) {
        send_state(*stream, election);
    };
    listener.on_failure = [this, stream](const service::Response&) { end(*stream); };
    stream->reader.open.reader =
        service::ElectionReader::open(parts_, request.name, std::nullopt, std::move(listener));
}

// A reader that does not keep up hears of the next change when everything sent so far has left.
void ElectionWatches::send_state(Streams::Stream& stream, const service::Election& election) {
    const Listening& listening = stream.reader;
    if (rights::deny(listening.client.get(), need_to_read(listening.name))) return end(stream);
    std::string text = "id: " + std::to_string(election.position()) + "\nevent: leader\ndata: ";
    election.append_json(text, clock_);
    stream.reply.send(text + "\n\n");
    if (!stream.reply || !stream.reply.is_congested()) return;
    stream.reader.open.reader->pause();
    stream.reply.call_when_sent([weak = std::weak_ptr(stream.reader.open.reader)] {
        if (const auto reader = weak.lock()) reader->resume();
    });
}

void ElectionWatches::end(Streams::Stream& stream) {
    streams_.visit_all([&](const Streams::Stream& one) { return &one != &stream; });
}

void ElectionWatches::keep_alive() {
    streams_.visit_all([](Streams::Stream& stream) {
        const Listening& reader = stream.reader;
        if (rights::deny(reader.client.get(), need_to_read(reader.name))) return false;
        if (!stream.reply.is_congested()) stream.reply.send(streams::keep_alive_text);
        return true;
    });
}

}  // namespace holdfast::doors::scoped
