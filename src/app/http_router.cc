#include "app/http_router.h"

namespace holdfast::app {

void HttpRouter::handle(const net::HttpRequest& request, net::HttpReply& reply) {
    if (request.path == "/lock") {
        homelab_.handle(request, reply);
        return;
    }
    reply.send(404, "application/json",
               "{\"error\":\"no such path; this server answers at /lock\"}\n");
}

}  // namespace holdfast::app
