#pragma once

#include <utility>

#include "net/http/http_reply.h"
#include "service/ports/port.h"

namespace holdfast::app {

// Asks the service, and has `answer(response, reply)` called with its response and the reply that
// it is for: at once, or when there is one. The port outlives the connection.
template <class Answer>
void reply_with(service::Port& port, const service::Request& request, net::HttpReply& reply,
                Answer answer) {
    if (const service::Response* const response = port.submit(request)) {
        return answer(*response, reply);
    }
    port.await(service::answer_by(
        [answer = std::move(answer), later = reply.defer()](
            const service::Response& response) mutable { answer(response, later); }));
}

}  // namespace holdfast::app
