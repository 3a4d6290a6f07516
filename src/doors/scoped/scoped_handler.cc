#include "doors/scoped/scoped_handler.h"

#include <utility>

#include "doors/answers/late_answer.h"
#include "doors/scoped/scoped_answer.h"
#include "service/doors.h"
#include "service/wait_limits.h"

namespace holdfast::doors::scoped {

namespace {

constexpr std::string_view json = "application/json";

// What the service is asked. Its views point into the request.
struct Translator {
    service::Request operator()(const Acquire& request) const {
        return core::AcquireRequest{
            .scope = request.scope.view(),
            .owner = {.door = service::scoped_door, .name = request.holder},
            .mode = request.mode,
            .limit = request.limit,
            .ttl = request.duration,
            .wait = service::to_wait(request.wait),
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

}  // namespace

ScopedHandler::ScopedHandler(const ScopedOptions& options, service::Port& port,
                             const service::Clock& clock)
    : options_(options), port_(port), clock_(clock) {}

void ScopedHandler::handle(const net::HttpRequest& http, net::HttpReply& reply) {
    body_.clear();
    const auto refuse = [&](const Fault& fault) {
        append_fault(body_, fault);
        if (fault.allowed_methods.empty()) return reply.send(fault.status, json, body_);
        reply.send(fault.status, json, body_, {{"Allow", fault.allowed_methods}});
    };
    auto request = parse_request(
        {.method = http.method, .path = http.path, .query = http.query, .body = http.body},
        options_);
    if (!request) return refuse(request.error());
    if (std::holds_alternative<DropFence>(*request) && !http.is_privileged) {
        return refuse({.status = 403,
                       .code = "Forbidden",
                       .message = "forgetting a resource's fence needs the admin token"});
    }
    if (const service::Response* response = port_.submit(std::visit(Translator{}, *request))) {
        const int status = append_answer(body_, *request, *response, clock_);
        return answers::send_json(reply, status, body_);
    }
    answers::answer_later<Acquire>(std::move(*request), reply, port_, clock_);
}

}  // namespace holdfast::doors::scoped
