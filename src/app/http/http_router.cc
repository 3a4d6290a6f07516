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
#include "doors/terraform/terraform_handler.h"

namespace holdfast::app {

namespace {

net::RoutedRequest to_routed(const net::RouteMatch& match, const net::HttpRequest& request,
                             net::Privilege privilege) {
    return {.http = request,
            .route = *match.route,
            .parameter = match.parameter,
            .privilege = privilege};
}

}  // namespace

std::vector<net::RouteGroup> http_routes(const HttpHandlers& handlers) {
    return {
        {doors::homelab::HomelabHandler::routes(), &handlers.homelab},
        // LockServer ignores slashes at the end of a path.
        {doors::lockserver::LockserverHandler::routes(), &handlers.lockserver, true},
        {doors::scoped::ScopedHandler::routes(), &handlers.scoped},
        {doors::terraform::TerraformHandler::routes(), &handlers.terraform},
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

bool HttpRouter::takes_pieces(std::string_view method, std::string_view target) const {
    const bool is_absolute = !target.starts_with('/');
    if (is_absolute) return table_.takes_pieces(method, net::split_target(target).path);
    return table_.takes_pieces(method, target.substr(0, target.find('?')));
}

void HttpRouter::handle(const net::HttpRequest& request, net::HttpReply& reply) {
    const net::RouteMatch match = table_.find(request.method, request.path);
    const auto privilege = admit(match, request, reply);
    if (!privilege) return;
    match.handler->handle(to_routed(match, request, *privilege), reply);
}

std::unique_ptr<net::BodySink> HttpRouter::receive(const net::HttpRequest& request,
                                                   net::HttpReply& reply, net::BodySource& source) {
    const net::RouteMatch match = table_.find(request.method, request.path);
    const auto privilege = admit(match, request, reply);
    if (!privilege) return nullptr;
    return match.handler->receive(to_routed(match, request, *privilege), reply, source);
}

// The privilege of a client that may use the route; nullopt: the request has been refused.
std::optional<net::Privilege> HttpRouter::admit(const net::RouteMatch& match,
                                                const net::HttpRequest& request,
                                                net::HttpReply& reply) {
    const auto privilege = gate_.admit(request, match.route, reply);
    if (!privilege) return std::nullopt;
    if (match.route != nullptr && *privilege >= match.route->needs) return privilege;
    const net::RouteRefusal refusal =
        match.route != nullptr
            ? net::RouteRefusal{.status = 403, .reason = match.route->refusal}
            : net::RouteRefusal{.status = match.allowed_methods.empty() ? 404 : 405,
                                .allowed_methods = match.allowed_methods};
    if (match.handler == nullptr) {
        refuse_as_json(refusal, reply);
    } else {
        match.handler->refuse(request, refusal, reply);
    }
    return std::nullopt;
}

}  // namespace holdfast::app
