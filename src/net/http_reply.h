#pragma once

// HttpReply and DeferredReply: the two ways to answer a request.
//
// A handler answers at once with HttpReply::send(), or takes a DeferredReply and answers later.
// Answers leave in the order of their requests, whichever comes first.
//
// Thread safety: only on the thread of the connection's loop.
// Lifetime: a HttpReply lives during HttpHandler::handle(); a DeferredReply as long as it likes.

#include <functional>
#include <initializer_list>
#include <string_view>

#include "net/http_message.h"

namespace holdfast::net {

class ReplyQueue;
struct ReplySlot;

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

  private:
    friend class ReplyQueue;
    explicit DeferredReply(ReplySlot& slot) : slot_(&slot) {}

    ReplySlot* slot_ = nullptr;
};

// The answer to the request being handled. REQUIRES: either send() or defer(), once. A handler that
// returns without either has answered 500.
class HttpReply {
  public:
    HttpReply(ReplyQueue& queue, const HttpTerms& terms) : queue_(queue), terms_(terms) {}
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

  private:
    ReplyQueue& queue_;
    HttpTerms terms_;
    bool used_ = false;
};

}  // namespace holdfast::net
