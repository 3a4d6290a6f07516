#include "doors/scoped/scoped_handler.h"

#include <utility>

#include "doors/answers/late_answer.h"
#include "doors/scoped/scoped_answer.h"
#include "service/doors.h"
#include "service/wait_limits.h"

namespace holdfast::doors::scoped {

namespace {

constexpr std::string_view json = "application/json";

// Turns a request of this door into one of the service, whose views point into the former.
struct Translator {
    service::Request operator()(const Acquire& request) const {
        return core::AcquireRequest{
            .scope = request.scope.view(),
            .owner = {.door = service::scoped_door, .name = request.holder},
            .mode = request.mode,
            .limit = request.limit,
            .ttl = request.duration,
            .wait = service::to_wait(request.wait),
            .is_only_kind = true,
            .notes = {.request_id = request.request_id, .metadata = request.metadata}};
    }
    service::Request operator()(const Renew& request) const {
        return core::RenewRequest{.token = request.token, .ttl = request.duration};
    }
    service::Request operator()(const Release& request) const {
        return core::ReleaseRequest{.token = request.token};
    }
    service::Request operator()(const Look& request) const {
        return service::Find{.token = request.token};
    }
    service::Request operator()(const ListLeases& request) const {
        core::LeaseQuery query{.kind = request.kind,
                               .holder = request.holder,
                               .after = request.after,
                               .limit = request.limit + 1};
        if (request.on) query.on = request.on->view();
        return service::ListLeases{.query = query};
    }
    service::Request operator()(const CheckToken& request) const {
        return service::CheckToken{.token = request.token, .scope = request.scope.view()};
    }
    service::Request operator()(const RaiseFence& request) const {
        return service::RaiseFence{.resource = request.resource, .fence = request.fence};
    }
    service::Request operator()(const ReadFence& request) const {
        return service::ReadFence{.resource = request.resource};
    }
    service::Request operator()(const DropFence& request) const {
        return service::DropFence{.resource = request.resource};
    }
};

using net::Privilege;
using Body = net::BodyPolicy;

constexpr net::Route all_routes[] = {
    {"GET, HEAD", "/v1/leases", Privilege::lock, Body::ignored, "listLeases", Action::list},
    {"POST", "/v1/leases", Privilege::lock, Body::whole, "takeLease", Action::acquire},
    {"GET, HEAD", "/v1/leases/{token}", Privilege::lock, Body::ignored, "lookAtLease",
     Action::look},
    {"DELETE", "/v1/leases/{token}", Privilege::lock, Body::ignored, "giveLeaseBack",
     Action::release},
    {"POST", "/v1/leases/{token}/renew", Privilege::lock, Body::whole, "renewLease", Action::renew},
    {"POST", "/v1/fence/check", Privilege::lock, Body::whole, "checkToken", Action::check_token},
    {"GET, HEAD", "/v1/fence/{resource}", Privilege::lock, Body::ignored, "lookAtFence",
     Action::read_fence},
    {"POST", "/v1/fence/{resource}", Privilege::lock, Body::whole, "raiseFence",
     Action::raise_fence},
    {"DELETE", "/v1/fence/{resource}", Privilege::administer, Body::ignored, "dropFence",
     Action::drop_fence, "forgetting a resource's fence needs the admin token"},
};

}  // namespace

ScopedHandler::ScopedHandler(const ScopedOptions& options, service::Port& port,
                             const service::Clock& clock)
    : options_(options), port_(port), clock_(clock) {}

std::span<const net::Route> ScopedHandler::routes() {
    return all_routes;
}

void ScopedHandler::refuse(const net::HttpRequest& http, const net::RouteRefusal& refusal,
                           net::HttpReply& reply) {
    if (refusal.status == 404) return send_fault(explain_path(http.path), reply);
    if (refusal.status == 403) {
        return send_fault(
            {.status = 403, .code = "Forbidden", .message = std::string(refusal.reason)}, reply);
    }
    send_fault({.status = 405,
                .code = "MethodNotAllowed",
                .message = "allowed here: " + std::string(refusal.allowed_methods)},
               reply, refusal.allowed_methods);
}

void ScopedHandler::send_fault(const Fault& fault, net::HttpReply& reply,
                               std::string_view allowed_methods) {
    body_.clear();
    append_fault(body_, fault);
    if (allowed_methods.empty()) return reply.send(fault.status, json, body_);
    reply.send(fault.status, json, body_, {{"Allow", allowed_methods}});
}

void ScopedHandler::handle(const net::RoutedRequest& routed, net::HttpReply& reply) {
    auto request = parse_request(
        routed.route.action.as<Action>(),
        {.name = routed.parameter, .query = routed.http.query, .body = routed.http.body}, options_);
    if (!request) return send_fault(request.error(), reply);
    if (const service::Response* response = port_.submit(std::visit(Translator{}, *request))) {
        body_.clear();
        const int status = append_answer(body_, *request, *response, clock_);
        return answers::send_json(reply, status, body_);
    }
    answers::answer_later<Acquire>(std::move(*request), reply, port_, clock_);
}

}  // namespace holdfast::doors::scoped
