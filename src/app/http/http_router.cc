#include "app/http/http_router.h"

#include "app/cluster/cluster_handler.h"
#include "app/http/backup_handler.h"
#include "app/http/documents.h"
#include "app/http/json_replies.h"
#include "app/http/session_handler.h"
#include "app/http/status_handler.h"
#include "doors/homelab/homelab_handler.h"
#include "doors/lockserver/lockserver_handler.h"
#include "doors/scoped/scoped_handler.h"

namespace holdfast::app {

std::vector<net::RouteGroup> http_routes(const HttpHandlers& handlers) {
    return {
        {doors::homelab::HomelabHandler::routes(), &handlers.homelab},
        // LockServer ignores slashes at the end of a path.
        {doors::lockserver::LockserverHandler::routes(), &handlers.lockserver, true},
        {doors::scoped::ScopedHandler::routes(), &handlers.scoped},
        {StatusHandler::routes(), &handlers.status},
        {SessionHandler::routes(), &handlers.sessions},
        {BackupHandler::routes(), &handlers.backup},
        {DocumentHandler::routes(), &handlers.documents},
        {ClusterHandler::routes(), &handlers.cluster},
    };
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): in the order of the groups
std::vector<net::RouteGroup> node_routes(net::RouteHandler& status, net::RouteHandler& node) {
    return {{StatusHandler::routes(), &status}, {NodeHandler::routes(), &node}};
}

void HttpRouter::handle(const net::HttpRequest& request, net::HttpReply& reply) {
    const net::RouteMatch match = table_.find(request.method, request.path);
    const auto privilege = gate_.admit(request, match.route, reply);
    if (!privilege) return;
    if (match.route != nullptr && *privilege >= match.route->needs) {
        return match.handler->handle({.http = request,
                                      .route = *match.route,
                                      .parameter = match.parameter,
                                      .privilege = *privilege},
                                     reply);
    }
    const net::RouteRefusal refusal =
        match.route != nullptr
            ? net::RouteRefusal{.status = 403, .reason = match.route->refusal}
            : net::RouteRefusal{.status = match.allowed_methods.empty() ? 404 : 405,
                                .allowed_methods = match.allowed_methods};
    if (match.handler == nullptr) return refuse_as_json(refusal, reply);
    match.handler->refuse(request, refusal, reply);
}

}  // namespace holdfast::app
