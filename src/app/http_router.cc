#include "app/http_router.h"

#include "app/openapi.h"
#include "app/status_handler.h"
#include "dialects/lockserver/lockserver_request.h"

namespace holdfast::app {

void HttpRouter::handle(const net::HttpRequest& request, net::HttpReply& reply) {
    if (request.path == "/openapi.json") return answer_openapi(request, reply);
    if (request.path == "/lock") return homelab_.handle(request, reply);
    if (dialects::lockserver::is_lockserver_path(request.path)) {
        return lockserver_.handle(request, reply);
    }
    if (StatusHandler::is_status_path(request.path)) return status_.handle(request, reply);
    reply.send(404, "application/json",
               "{\"error\":\"no such path; this server answers at /lock and /v1/locks\"}\n");
}

}  // namespace holdfast::app
