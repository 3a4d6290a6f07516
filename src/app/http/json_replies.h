#pragma once

// What the server's own HTTP handlers have in common: errors as JSON, answers that wait for the
// service, and the refusal of requests that have no route.

#include <string>
#include <string_view>
#include <utility>

#include "base/json/json_writer.h"
#include "net/http/routes.h"
#include "rights/denial.h"
#include "service/ports/port.h"

namespace holdfast::app {

inline constexpr std::string_view json_type = "application/json";

// The body of an answer that names a fault: `{"error":"..."}` and a newline.
[[nodiscard]] inline std::string json_error(std::string_view sentence) {
    std::string body;
    base::JsonWriter(body).begin_object().field("error", sentence).end_object();
    return body + "\n";
}

// Asks the service, and calls `answer(response, reply)` with the response of the service and the
// reply that it is for: at once, or when the service has responded. The port outlives the
// connection.
template <class Answer>
void reply_with(service::Port& port, const service::Request& request, net::HttpReply& reply,
                Answer answer, std::string_view by = {}) {
    if (const service::Response* const response = port.submit(request, by)) {
        return answer(*response, reply);
    }
    port.await(service::answer_by(
        [answer = std::move(answer), later = reply.defer()](
            const service::Response& response) mutable { answer(response, later); }));
}

// Answers a request that has no route, or whose client may not use it.
inline void refuse_as_json(const net::RouteRefusal& refusal, net::HttpReply& reply) {
    switch (refusal.status) {
        case 403: {
            std::string body = json_error(refusal.reason);
            if (refusal.denial != nullptr) rights::add_to_json(body, *refusal.denial);
            return reply.send(403, json_type, body);
        }
        case 405:
            return reply.send(405, json_type, json_error("method not allowed"),
                              {{"Allow", refusal.allowed_methods}});
        default: break;
    }
    reply.send(404, json_type,
               json_error("no such path; this server answers at /lock, /v1/locks, /v1/leases and "
                          "/v1/fence"));
}

// A handler of the server itself, which belongs to no door.
class JsonHandler : public net::RouteHandler {
  public:
    void refuse(const net::HttpRequest& /*request*/, const net::RouteRefusal& refusal,
                net::HttpReply& reply) final {
        refuse_as_json(refusal, reply);
    }

  protected:
    ~JsonHandler() = default;
};

}  // namespace holdfast::app
