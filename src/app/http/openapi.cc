#include "app/http/openapi.h"

namespace holdfast::app {

void answer_openapi(const net::HttpRequest& request, net::HttpReply& reply) {
    if (request.method == "GET" || request.method == "HEAD") {
        return reply.send(200, "application/json", openapi_json());
    }
    reply.send(405, "application/json", "{\"error\":\"method not allowed\"}\n",
               {{"Allow", "GET, HEAD"}});
}

}  // namespace holdfast::app
