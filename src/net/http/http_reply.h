#pragma once

// HttpReply, DeferredReply and StreamedReply: the three ways to answer a request.
//
// A handler answers at once with HttpReply::send(), or takes a DeferredReply and answers later, or
// a StreamedReply and answers piece by piece. Answers leave in the order of their requests,
// whichever comes first.
//
// Thread safety: only on the thread of the connection's loop.
// Lifetime: a HttpReply lives during HttpHandler::handle(); the others as long as they like.

#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "net/http/http_message.h"

namespace holdfast::net {

class ReplyQueue;
struct ReplySlot;

// How a body is sent in pieces.
struct StreamOptions {
    std::optional<std::uint64_t> length = {};  // of all of them, if it is known
    std::function<void()> on_abandoned = {};
};

class StreamedReply;

// A promise to answer. Exactly one answer is sent for it: if it is destroyed before, that is a 500.
//
// The connection may die meanwhile; then answering does nothing. `on_abandoned` is called once, in
// a turn of the loop, when the peer stops sending (it died, or half-closed its connection) or the
// connection is gone. It is the moment to give up what is being waited for; an answer that comes
// nevertheless is sent if it still can be. It is not called after the answer, and may itself answer
// or destroy the reply.
class DeferredReply {
  public:
    DeferredReply() = default;
    DeferredReply(DeferredReply&& other) noexcept;
    DeferredReply& operator=(DeferredReply&& other) noexcept;
    ~DeferredReply();

    // Whether an answer is still owed.
    [[nodiscard]] explicit operator bool() const { return slot_ != nullptr; }

    // REQUIRES: an answer is still owed.
    void send(int status, std::string_view content_type, std::string_view body,
              std::span<const HttpHeader> headers = {});
    void send(int status, std::string_view content_type, std::string_view body,
              std::initializer_list<HttpHeader> headers) {
        send(status, content_type, body, std::span(headers.begin(), headers.size()));
    }

    // Answers in pieces after all. REQUIRES: as send().
    [[nodiscard]] StreamedReply stream(int status, std::string_view content_type,
                                       std::span<const HttpHeader> headers, StreamOptions options);

    // Closes the connection after the answer. For an answer that is given before the body of its
    // request is whole: what is still to come of that is not read. REQUIRES: as send().
    void close_after();

  private:
    friend class ReplyQueue;
    explicit DeferredReply(ReplySlot& slot) : slot_(&slot) {}

    ReplySlot* slot_ = nullptr;
};

// An answer in pieces, such as server-sent events. It is ended by end() or its destruction.
//
// Pieces sent while earlier requests of the connection are unanswered wait for their turn. Nothing
// limits what a slow peer makes wait but its sender: look at is_congested(), and drop or end.
//
// `on_abandoned` is called once, in a turn of the loop, when the peer stops sending (it died, or
// half-closed its connection), when the connection is gone or when the server shuts down; it may
// end or destroy the reply. A shutdown waits for no stream: one that goes on is ended for it.
class StreamedReply {
  public:
    StreamedReply() = default;
    StreamedReply(StreamedReply&& other) noexcept;
    StreamedReply& operator=(StreamedReply&& other) noexcept;
    ~StreamedReply() { end(); }

    // Whether what is sent still goes anywhere. A HEAD, and a status that has no body, are answered
    // with the header alone: false from the start, and on_abandoned is never called.
    [[nodiscard]] explicit operator bool() const;

    // Sends one more piece at the end of this turn. Does nothing when it would go nowhere.
    void send(std::string_view piece);

    // Whether so much is waiting to be sent on this connection that the peer does not keep up.
    [[nodiscard]] bool is_congested() const;

    // Calls `on_room` once, in a turn of the loop, when all that was sent on this connection has
    // left it: the moment for the next piece of something long. Not after the end, nor when the
    // connection is gone. REQUIRES: it still goes somewhere.
    void call_when_sent(std::function<void()> on_room);

    // Ends the answer, as the peer can tell from a connection that broke (except in HTTP/1.0). Does
    // nothing if it has ended. Before as many bytes were sent as were announced, this breaks the
    // connection.
    void end();

  private:
    friend class ReplyQueue;
    explicit StreamedReply(ReplySlot& slot) : slot_(&slot) {}

    ReplySlot* slot_ = nullptr;
};

// The answer to the request being handled. REQUIRES: either send() or defer() or stream(), once. A
// handler that returns without any has answered 500.
class HttpReply {
  public:
    // `terms_at_once` are those of an answer by send(), which may come before the request is read.
    HttpReply(ReplyQueue& queue, const HttpTerms& terms, const HttpTerms& terms_at_once)
        : queue_(queue), terms_(terms), terms_at_once_(terms_at_once) {}
    HttpReply(ReplyQueue& queue, const HttpTerms& terms) : HttpReply(queue, terms, terms) {}
    ~HttpReply();
    HttpReply(const HttpReply&) = delete;
    HttpReply& operator=(const HttpReply&) = delete;

    // Formats straight into the connection's output, unless earlier requests are still unanswered.
    void send(int status, std::string_view content_type, std::string_view body,
              std::span<const HttpHeader> headers = {});
    void send(int status, std::string_view content_type, std::string_view body,
              std::initializer_list<HttpHeader> headers) {
        send(status, content_type, body, std::span(headers.begin(), headers.size()));
    }

    [[nodiscard]] DeferredReply defer(std::function<void()> on_abandoned = {});

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
    ReplyQueue& queue_;
    HttpTerms terms_, terms_at_once_;
    bool used_ = false;
};

}  // namespace holdfast::net
