#pragma once

// Answers to HTTP requests that the service responds to later: after a wait, a commit, or from
// another thread. What an answer looks like is each door's own affair: its append_answer() and,
// where requests may wait, append_cancelled() are called.

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

// Sends a JSON body. A status that means "not now" is sent with the time after which asking again
// makes sense.
template <class Reply>
void send_json(Reply& reply, int status, std::string_view body) {
    constexpr std::string_view content_type = "application/json";
    if (status != 503) return reply.send(status, content_type, body);
    reply.send(status, content_type, body, {{"Retry-After", "1"}});
}

// `Acquire` is that alternative of `Request` that may wait; void if none does.
template <class Request, class Acquire = void>
class LateAnswer final : public service::OwnAnswer {
  public:
    LateAnswer(Request request, net::DeferredReply reply, const service::Clock& clock)
        : request_(std::move(request)), reply_(std::move(reply)), clock_(clock) {}

    // Only a wait can be abandoned; its client may have half-closed, and listens.
    ~LateAnswer() override {
        if constexpr (!std::is_void_v<Acquire>) {
            const auto* const acquire = std::get_if<Acquire>(&request_);
            if (!reply_ || acquire == nullptr) return;
            std::string body;
            const int status = append_cancelled(body, *acquire);
            send_json(reply_, status, body);
        }
    }

    void on_response(const service::Response& response) override {
        std::string body;
        const int status = append_answer(body, request_, response, clock_);
        send_json(reply_, status, body);
    }

  private:
    const Request request_;
    net::DeferredReply reply_;
    const service::Clock& clock_;
};

// Promises the answer to a request that was submitted to `port` just now. A client that goes away
// while it waits for a lock leaves the queue. One that goes away during a commit has its lock, for
// as long as it asked for. The port and the clock outlive the connection.
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
