// The requests of Client, one function each; how a call is made is in client.cc.

#include <fmt/format.h>

#include <utility>

#include "etcd/client.h"
#include "etcd/wire/wire.h"

namespace holdfast::etcd {

namespace {

using Kind = Failure::Kind;

std::shared_ptr<const std::string> frame_of(const std::string& message) {
    return std::make_shared<const std::string>(to_frame(message));
}

}  // namespace

// An answer that cannot be read does not tell whether the request was done.
template <class T, class Decode>
void Client::ask(Call call, Duration timeout, Decode decode, OnAnswer<T> done) {
    call.deadline = net::EventLoop::Clock::now() + timeout;
    call.done = [this, decode, done = std::move(done)](const Call& ended, Reply reply) {
        auto decoded = reply ? decode(*reply) : std::nullopt;
        const bool is_unreadable = reply && !decoded;
        Answer<T> answer;
        if (decoded) {
            answer = std::move(*decoded);
        } else if (is_unreadable) {
            answer = tl::unexpected(Failure{.message = ended.connection->name() +
                                                       " gives an answer that cannot be read"});
        } else {
            answer = tl::unexpected(std::move(reply).error());
        }
        deliver([done, answer = std::move(answer)] { done(answer); });
        return !is_unreadable;
    };
    begin(std::move(call));
}

void Client::range(RangeRequest request, Duration timeout, OnAnswer<RangeAnswer> done) {
    ask({.path = paths::range, .frame = frame_of(encode_range(request))}, timeout, decode_range,
        std::move(done));
}

void Client::transact(std::shared_ptr<const Transaction> transaction, Duration timeout,
                      OnAnswer<TransactionAnswer> done) {
    ask({.path = paths::transaction, .frame = frame_of(encode_transaction(*transaction))}, timeout,
        decode_transaction, std::move(done));
}

void Client::grant(LeaseId id, std::chrono::seconds ttl, Duration timeout,
                   OnAnswer<LeaseAnswer> done) {
    ask({.path = paths::grant, .frame = frame_of(encode_grant(id, ttl.count()))}, timeout,
        decode_lease, std::move(done));
}

// KeepAlive is a stream of requests and answers. With one request and its end there is one answer.
void Client::keep_alive(LeaseId id, Duration timeout, OnAnswer<LeaseAnswer> done) {
    ask({.path = paths::keep_alive, .frame = frame_of(encode_lease(id)), .needs_leader = true},
        timeout, decode_lease, std::move(done));
}

void Client::revoke(LeaseId id, Duration timeout, OnAnswer<LeaseAnswer> done) {
    const auto decode = [id](std::string_view bytes) {
        auto answer = decode_revocation(bytes);
        if (answer) answer->id = id;
        return answer;
    };
    ask({.path = paths::revoke, .frame = frame_of(encode_lease(id))}, timeout, decode,
        std::move(done));
}

void Client::compact(Revision revision, Duration timeout, OnAnswer<Revision> done) {
    ask({.path = paths::compact, .frame = frame_of(encode_compaction(revision))}, timeout,
        decode_compaction, std::move(done));
}

void Client::status(Duration timeout, OnAnswer<StatusAnswer> done) {
    ask({.path = paths::status, .frame = frame_of("")}, timeout, decode_status, std::move(done));
}

Api::WatchId Client::watch(std::string key, std::string range_end, Revision start,
                           OnEvents on_events, OnEnd on_end) {
    const WatchRequest request{
        .key = std::move(key), .range_end = std::move(range_end), .start = start};
    const WatchId id = last_id_ + 1;
    watches_.insert(id);
    const auto done = [this, id, on_end = std::move(on_end)](const Call&, const Reply& reply) {
        deliver([this, id, on_end, failure = reply.error()] {
            if (watches_.erase(id) == 1) on_end(failure);
        });
        return true;
    };
    return begin({.path = paths::watch,
                  .frame = frame_of(encode_watch(request)),
                  .needs_leader = true,
                  .is_watch = true,
                  .done = done,
                  .on_events = std::move(on_events)});
}

void Client::cancel(WatchId watch) {
    watches_.erase(watch);
    const auto node = calls_.extract(watch);
    if (node.empty() || !node.mapped().connection) return;
    node.mapped().connection->cancel(watch);
    loop_.schedule(*this);
}

void Client::on_watch_message(CallId id, Call& call, std::string_view message) {
    auto answer = decode_watch(message);
    if (!answer) {
        return end_watch(
            id, {.message = call.connection->name() + " sends changes that cannot be read"});
    }
    if (!answer->events.empty()) {
        deliver([this, id, on_events = call.on_events, revision = answer->revision,
                 events = std::move(answer->events)] {
            if (watches_.contains(id)) on_events(revision, events);
        });
    }
    if (!answer->is_cancelled) return;
    const std::string reason =
        fmt::format("{} ends the watch: {}", call.connection->name(), answer->cancel_reason);
    if (answer->compact_revision > 0) {
        return end_watch(id, {.kind = Kind::compacted,
                              .message = fmt::format("{} (compacted up to revision {})", reason,
                                                     answer->compact_revision)});
    }
    const bool is_denied = reason.find("permission denied") != std::string::npos;
    if (!is_denied) return end_watch(id, {.message = reason});
    // etcd says the same of a token that it does not know any more.
    call.connection->cancel(id);
    if (ask_for_new_token(id, call)) return;
    end_watch(id, {.kind = Kind::rejected, .message = reason});
}

void Client::end_watch(CallId id, Failure failure) {
    Http2Connection& connection = *calls_.at(id).connection;
    connection.cancel(id);
    if (failure.kind == Kind::unknown) turn_away_from(connection);
    finish(id, tl::unexpected(std::move(failure)));
}

}  // namespace holdfast::etcd
