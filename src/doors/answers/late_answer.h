#pragma once

// LateAnswer: the answer to an HTTP request whose response the service gives later: after a wait, a
// commit, or from another thread.
//
//     event                                       what the client gets
//     the service responds                        the door's append_answer()
//     the service drops the answer of a wait:     the door's append_cancelled(); the client has
//       the client stopped sending                stopped sending, but may still read
//     the service drops any other answer:         500, from net::DeferredReply
//       the server ends
//     the connection is gone                      nothing: the reply leads nowhere
//
// Exactly one of the first three happens, and it is the last thing that happens to a LateAnswer.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "net/http/http_reply.h"
#include "service/ports/clock.h"
#include "service/ports/port.h"

namespace holdfast::doors::answers {

// Sends a JSON body. A 503 tells the client when to ask again.
template <class Reply>
void send_json(Reply& reply, int status, std::string_view body) {
    constexpr std::string_view content_type = "application/json";
    if (status != 503) return reply.send(status, content_type, body);
    reply.send(status, content_type, body, {{"Retry-After", "1"}});
}

// `Acquire` is the alternative of `Request` that may wait; void if none may. The object deletes
// itself: a port calls either take() or drop(), once.
template <class Request, class Acquire = void>
class LateAnswer final : public service::Answer {
  public:
    LateAnswer(Request request, net::DeferredReply reply, const service::Clock& clock)
        : request_(std::move(request)), reply_(std::move(reply)), clock_(clock) {}

    void take(const service::Response& response) override {
        const std::unique_ptr<LateAnswer> self(this);
        std::string body;
        body.reserve(body_bytes_usual);
        const int status = append_answer(body, request_, response, clock_);
        send_json(reply_, status, body);
    }

    void drop() override {
        const std::unique_ptr<LateAnswer> self(this);
        if constexpr (!std::is_void_v<Acquire>) {
            const auto* const acquire = std::get_if<Acquire>(&request_);
            if (acquire == nullptr) return;
            std::string body;
            const int status = append_cancelled(body, *acquire);
            send_json(reply_, status, body);
        }
    }

  private:
    static constexpr std::size_t body_bytes_usual = 512;

    const Request request_;
    net::DeferredReply reply_;
    const service::Clock& clock_;
};

// Promises the answer to a request that was submitted to `port` just now. A client that goes away
// while it waits for a lock leaves the queue. A client that goes away during a commit has its lock
// until the lease expires. The port and the clock outlive the connection.
template <class Acquire, class Request>
void answer_later(Request request, net::HttpReply& reply, service::Port& port,
                  const service::Clock& clock) {
    using Late = LateAnswer<Request, Acquire>;
    const auto* const acquire = std::get_if<Acquire>(&request);
    if (acquire == nullptr || acquire->wait <= acquire->wait.zero()) {
        port.await(std::make_unique<Late>(std::move(request), reply.defer(), clock));
        return;
    }
    const auto promise = std::make_shared<service::PromiseId>();
    auto later = reply.defer([&port, promise] { port.abandon(*promise); });
    *promise = port.await(std::make_unique<Late>(std::move(request), std::move(later), clock));
}

}  // namespace holdfast::doors::answers
