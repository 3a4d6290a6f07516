#include "app/http/http_router.h"

#include "app/http/backup_handler.h"
#include "app/http/dashboard.h"
#include "app/http/openapi.h"
#include "app/http/session_handler.h"
#include "app/http/status_handler.h"
#include "doors/lockserver/lockserver_request.h"
#include "doors/scoped/scoped_request.h"

namespace holdfast::app {

void HttpRouter::handle(const net::HttpRequest& request, net::HttpReply& reply) {
    if (request.path == "/openapi.json") return answer_openapi(request, reply);
    if (request.path == "/lock") return handlers_.homelab.handle(request, reply);
    if (doors::lockserver::is_lockserver_path(request.path)) {
        return handlers_.lockserver.handle(request, reply);
    }
    if (doors::scoped::is_scoped_path(request.path)) {
        return handlers_.scoped.handle(request, reply);
    }
    if (is_dashboard_path(request.path)) return answer_dashboard(request, reply);
    if (StatusHandler::is_status_path(request.path)) return handlers_.status.handle(request, reply);
    if (SessionHandler::is_session_path(request.path)) {
        return handlers_.sessions.handle(request, reply);
    }
    if (BackupHandler::is_backup_path(request.path)) return handlers_.backup.handle(request, reply);
    reply.send(404, "application/json",
               "{\"error\":\"no such path; this server answers at /lock, /v1/locks, /v1/leases and "
               "/v1/fence\"}\n");
}

}  // namespace holdfast::app
