#include "app/http/http_router.h"

#include "app/cluster/cluster_handler.h"
#include "app/http/backup_handler.h"
#include "app/http/documents.h"
#include "app/http/history_handler.h"
#include "app/http/json_replies.h"
#include "app/http/session_handler.h"
#include "app/http/status_handler.h"
#include "doors/homelab/homelab_handler.h"
#include "doors/lockserver/lockserver_handler.h"
#include "doors/scoped/scoped_handler.h"
#include "doors/terraform/terraform_handler.h"
#include "rights/asker.h"
#include "rights/denial.h"

namespace holdfast::app {

namespace {

rights::Right right_of(net::Privilege privilege) {
    switch (privilege) {
        case net::Privilege::none: return rights::Right::none;
        case net::Privilege::read: return rights::Right::read;
        case net::Privilege::lock: return rights::Right::lock;
        case net::Privilege::administer: break;
    }
    return rights::Right::admin;
}

bool may_use(const net::Route& route, const HttpGate::Admission& admission) {
    if (admission.privilege >= route.needs) return true;
    if (route.reach == net::Reach::everything || admission.client == nullptr) return false;
    return admission.client->may_something(right_of(route.needs), rights::Door::http);
}

// REQUIRES: the client may not use the route.
rights::Denial deny(const net::Route& route, const rights::Token& client) {
    const bool is_for_everything = route.reach == net::Reach::everything;
    const auto refuse = is_for_everything ? rights::refuse_everything : rights::refuse_anything;
    return refuse(client, right_of(route.needs), rights::Door::http);
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
        {HistoryHandler::routes(), &handlers.history},
        {DocumentHandler::routes(), &handlers.documents},
        {ClusterHandler::routes(), &handlers.cluster},
    };
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): in the order of the groups
std::vector<net::RouteGroup> node_routes(net::RouteHandler& status, net::RouteHandler& node) {
    return {{StatusHandler::routes(), &status}, {NodeHandler::routes(), &node}};
}

net::RoutedRequest HttpRouter::to_routed(const net::RouteMatch& match,
                                         const net::HttpRequest& request,
                                         const HttpGate::Admission& admission) {
    rights::set_asker(by_, admission.client, rights::Door::http, request.client_host());
    return {.http = request,
            .route = *match.route,
            .parameter = match.parameter,
            .privilege = admission.privilege,
            .client = admission.client,
            .by = by_};
}

// Requests that are refused, and those whose body nobody looks at, are answered before it arrives.
bool HttpRouter::wants_body(const net::HttpRequest& head, net::HttpReply& reply) {
    const net::RouteMatch match = table_.find(head.method, head.path);
    reply.count_as(counts_[match.number]);
    const auto admission = admit(match, head, reply);
    if (!admission) return false;
    if (match.route->body == net::BodyPolicy::whole) return reply.pass(), true;
    match.handler->handle(to_routed(match, head, *admission), reply);
    return false;
}

bool HttpRouter::takes_pieces(std::string_view method, std::string_view target) const {
    const bool is_absolute = !target.starts_with('/');
    if (is_absolute) return table_.takes_pieces(method, net::split_target(target).path);
    return table_.takes_pieces(method, target.substr(0, target.find('?')));
}

void HttpRouter::handle(const net::HttpRequest& request, net::HttpReply& reply) {
    const net::RouteMatch match = table_.find(request.method, request.path);
    reply.count_as(counts_[match.number]);
    const auto admission = admit(match, request, reply);
    if (!admission) return;
    match.handler->handle(to_routed(match, request, *admission), reply);
}

std::unique_ptr<net::BodySink> HttpRouter::receive(const net::HttpRequest& request,
                                                   net::HttpReply& reply, net::BodySource& source) {
    const net::RouteMatch match = table_.find(request.method, request.path);
    reply.count_as(counts_[match.number]);
    const auto admission = admit(match, request, reply);
    if (!admission) return nullptr;
    return match.handler->receive(to_routed(match, request, *admission), reply, source);
}

// The client, if it may use the route; nullopt: the request has been refused.
std::optional<HttpGate::Admission> HttpRouter::admit(const net::RouteMatch& match,
                                                     const net::HttpRequest& request,
                                                     net::HttpReply& reply) {
    const auto admission = gate_.admit(request, match.route, reply);
    if (!admission) return std::nullopt;
    if (match.route != nullptr && may_use(*match.route, *admission)) return admission;
    net::RouteRefusal refusal{.status = match.allowed_methods.empty() ? 404 : 405,
                              .allowed_methods = match.allowed_methods};
    std::optional<rights::Denial> denial;
    if (match.route != nullptr) {
        refusal = {.status = 403, .reason = match.route->refusal};
        if (admission->client != nullptr) {
            denial = deny(*match.route, *admission->client);
            refusal.denial = &*denial;
            // The sentence of the route is for those who know of one admin token only.
            const bool has_limits =
                admission->client->everywhere(rights::Door::http) < rights::Right::lock;
            if (has_limits || refusal.reason.empty()) refusal.reason = denial->sentence;
        }
    }
    if (match.handler == nullptr) {
        refuse_as_json(refusal, reply);
    } else {
        match.handler->refuse(request, refusal, reply);
    }
    return std::nullopt;
}

}  // namespace holdfast::app
