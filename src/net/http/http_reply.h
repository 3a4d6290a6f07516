#pragma once

// HttpReply, DeferredReply and StreamedReply: the three ways to answer a request.
//
// A handler answers at once with HttpReply::send(); or it keeps a DeferredReply and answers later;
// or it keeps a StreamedReply and answers piece by piece. Answers leave in the order of their
// requests, in whatever order they are given.
//
// Thread safety: only on the thread of the connection's loop.
// Lifetime: a HttpReply lives during HttpHandler::handle(). The others may outlive the connection.

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "net/http/http_message.h"

namespace holdfast::net {

class ReplyQueue;
struct ReplySlot;

// How a body is sent in pieces.
struct StreamOptions {
    std::optional<std::uint64_t> length = {};  // of all pieces together, if it is known
    std::function<void()> on_abandoned = {};
};

// ReplyLink: the link between a reply and its slot in the ReplyQueue; reply_queue.h explains it.
class ReplyLink {
  protected:
    ReplyLink() = default;
    explicit ReplyLink(ReplySlot& slot);
    ReplyLink(ReplyLink&& other) noexcept;
    ~ReplyLink() = default;

    void link(ReplySlot& slot);
    // Cuts the link. Returns the slot; null if there was no link.
    ReplySlot* cut();

    ReplySlot* slot_ = nullptr;

  private:
    friend class ReplyQueue;
};

class StreamedReply;

// A promise to answer. Exactly one answer is sent for it: 500 if it is destroyed before.
//
// The connection may die meanwhile; then answering does nothing. `on_abandoned` is called once, in
// a turn of the loop, when the peer stops sending (it died, or half-closed its connection) or the
// connection is gone. That is the moment to stop waiting for what the answer needs. An answer that
// comes nevertheless is sent if the connection still exists. `on_abandoned` is not called after the
// answer, and may itself answer or destroy the reply.
class DeferredReply : private ReplyLink {
  public:
    DeferredReply() = default;
    DeferredReply(DeferredReply&& other) noexcept;
    DeferredReply& operator=(DeferredReply&& other) noexcept;
    ~DeferredReply();

    // Whether an answer is still owed.
    [[nodiscard]] explicit operator bool() const { return is_owed_; }

    // REQUIRES: an answer is still owed.
    void send(int status, std::string_view content_type, std::string_view body,
              std::span<const HttpHeader> headers = {});
    void send(int status, std::string_view content_type, std::string_view body,
              std::initializer_list<HttpHeader> headers) {
        send(status, content_type, body, std::span(headers.begin(), headers.size()));
    }

    // Answers in pieces. REQUIRES: as send().
    [[nodiscard]] StreamedReply stream(int status, std::string_view content_type,
                                       std::span<const HttpHeader> headers, StreamOptions options);

    // Closes the connection after the answer. For an answer that is given before the whole body of
    // its request has arrived: the rest of the body is not read. REQUIRES: as send().
    void close_after();

  private:
    friend class ReplyQueue;
    explicit DeferredReply(ReplySlot& slot) : ReplyLink(slot), is_owed_(true) {}

    bool is_owed_ = false;
};

// An answer in pieces, such as server-sent events. It is ended by end() or its destruction.
//
// Pieces sent while earlier requests of the connection are unanswered wait for their turn. Only the
// sender limits what waits for a slow peer: it looks at is_congested(), and drops pieces or ends.
//
// `on_abandoned` is called once, in a turn of the loop, when the peer stops sending (it died, or
// half-closed its connection), when the connection is gone or when the server shuts down; it may
// end or destroy the reply. A shutdown does not wait for streams: it ends those that go on.
class StreamedReply : private ReplyLink {
  public:
    StreamedReply() = default;
    StreamedReply(StreamedReply&& other) noexcept = default;
    StreamedReply& operator=(StreamedReply&& other) noexcept;
    ~StreamedReply() { end(); }

    // Whether pieces can still reach the peer. The answer to a HEAD, and a status that has no body,
    // consist of the header alone: false from the start, and on_abandoned is never called.
    [[nodiscard]] explicit operator bool() const { return slot_ != nullptr; }

    // Sends one more piece at the end of this turn. Does nothing if it cannot reach the peer.
    void send(std::string_view piece);

    // Whether so much output waits on this connection that the peer is too slow.
    [[nodiscard]] bool is_congested() const;

    // Calls `on_room` once, in a turn of the loop, when all output of this connection has been
    // sent: the moment for the next piece of something long. Does not call it after the end, nor
    // when the connection is gone. REQUIRES: pieces can still reach the peer.
    void call_when_sent(std::function<void()> on_room);

    // Ends the answer. The peer can tell the end from a broken connection (except in HTTP/1.0).
    // Does nothing if the answer has ended. If fewer bytes were sent than were announced, this
    // breaks the connection.
    void end();

  private:
    friend class ReplyQueue;
    explicit StreamedReply(ReplySlot& slot) : ReplyLink(slot) {}
};

// The answer to the request that is being handled. REQUIRES: one of send(), defer(), stream() and
// pass() is called, once. A handler that returns without any of them has answered 500.
class HttpReply {
  public:
    // `may_send_at_once`: whether the connection can go on after an answer by send(), which may
    // come before the whole request has been read.
    HttpReply(ReplyQueue& queue, HttpTerms terms, bool may_send_at_once = true)
        : queue_(queue), terms_(std::move(terms)), may_send_at_once_(may_send_at_once) {}
    ~HttpReply();
    HttpReply(const HttpReply&) = delete;
    HttpReply& operator=(const HttpReply&) = delete;

    // Adds whole header lines, each with its line end, to the answer, whichever way it is given. Null
    // adds none. REQUIRES: the request is not answered yet.
    void add_headers(const std::shared_ptr<const std::string>& lines) {
        terms_.more_headers = lines;
    }

    // Counts the answer there. The counts outlive the connection.
    void count_as(RouteCounts& counts) { terms_.counts = &counts; }

    // Writes straight into the connection's output, unless earlier requests are still unanswered.
    void send(int status, std::string_view content_type, std::string_view body,
              std::span<const HttpHeader> headers = {});
    void send(int status, std::string_view content_type, std::string_view body,
              std::initializer_list<HttpHeader> headers) {
        send(status, content_type, body, std::span(headers.begin(), headers.size()));
    }

    [[nodiscard]] DeferredReply defer(std::function<void()> on_abandoned = {});

    // The request is not answered here, but by another HttpReply.
    void pass() { used_ = true; }

    // Begins an answer in pieces. HTTP/1.0 knows no pieces: there the connection closes at the end.
    [[nodiscard]] StreamedReply stream(int status, std::string_view content_type,
                                       std::span<const HttpHeader> headers = {},
                                       std::function<void()> on_abandoned = {});
    [[nodiscard]] StreamedReply stream(int status, std::string_view content_type,
                                       std::initializer_list<HttpHeader> headers,
                                       std::function<void()> on_abandoned = {}) {
        return stream(status, content_type, std::span(headers.begin(), headers.size()),
                      std::move(on_abandoned));
    }

  private:
    void answer(const HttpResponse& response);

    ReplyQueue& queue_;
    HttpTerms terms_;
    const bool may_send_at_once_;
    bool used_ = false;
};

}  // namespace holdfast::net
