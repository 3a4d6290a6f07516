#include "doors/homelab/homelab_handler.h"

#include <utility>

#include "doors/answers/late_answer.h"
#include "doors/homelab/homelab_answer.h"
#include "rights/denial.h"
#include "service/doors.h"

namespace holdfast::doors::homelab {

namespace {

constexpr std::string_view json = "application/json";

// How long the name of a client whose lease and grace are over is remembered.
constexpr core::Duration owner_memory = std::chrono::hours{24};

using net::Privilege;
using Body = net::BodyPolicy;

constexpr net::Route all_routes[] = {
    {"GET, HEAD", "/lock", Privilege::read, Body::ignored, "lookAtJob", Action::status,
     net::Reach::asked},
    {"POST", "/lock", Privilege::lock, Body::ignored, "takeJob", Action::acquire,
     net::Reach::asked},
    {"DELETE", "/lock", Privilege::lock, Body::ignored, "giveJobBack", Action::release,
     net::Reach::asked},
};

}  // namespace

HomelabHandler::HomelabHandler(const HomelabOptions& options, service::Port& port,
                               const service::Clock& clock)
    : options_(options), port_(port), clock_(clock) {}

std::span<const net::Route> HomelabHandler::routes() {
    return all_routes;
}

// The only path of this door is a literal: so the method is what is wrong, if it is not the client.
void HomelabHandler::refuse(const net::HttpRequest& http, const net::RouteRefusal& refusal,
                            net::HttpReply& reply) {
    if (refusal.denial != nullptr) return send_denied(job_of(http.query), *refusal.denial, reply);
    body_.clear();
    append_fault(body_, {.job = job_of(http.query), .error = "Method not allowed"});
    reply.send(refusal.status, json, body_, {{"Allow", refusal.allowed_methods}});
}

void HomelabHandler::send_denied(const std::string& job, const rights::Denial& denial,
                                 net::HttpReply& reply) {
    body_.clear();
    append_fault(body_, {.job = job, .error = denial.sentence});
    rights::add_to_json(body_, denial);
    reply.send(403, json, body_);
}

void HomelabHandler::handle(const net::RoutedRequest& routed, net::HttpReply& reply) {
    body_.clear();
    const std::string_view query = routed.http.query;
    auto request = parse_request(routed.route.action.as<Action>(), query);
    if (!request) {
        append_fault(body_, {.job = job_of(query), .error = request.error().message});
        reply.send(400, json, body_);
        return;
    }
    const rights::Right right =
        request->action == Action::status ? rights::Right::read : rights::Right::lock;
    if (const auto denial = rights::deny(
            routed.client, {right, rights::Door::http, core::Scope::named(request->job)})) {
        return send_denied(request->job, *denial, reply);
    }
    const auto allowed = rights::allowed_to(routed.client, right, rights::Door::http);
    if (const service::Response* response =
            port_.submit(to_service(*request), routed.by, allowed)) {
        const int status = append_answer(body_, *request, *response, clock_);
        answers::send_json(reply, status, body_);
        return;
    }
    // Nothing here waits for a lock. So a client that goes away is not cancelled: its lease ends as
    // that of any client that closes its lid.
    port_.await(std::make_unique<answers::LateAnswer<HomelabRequest>>(std::move(*request),
                                                                      reply.defer(), clock_));
}

service::Request HomelabHandler::to_service(const HomelabRequest& request) const {
    const core::Scope scope = core::Scope::named(request.job);
    const core::Owner owner{.door = service::homelab_door, .name = request.client};
    switch (request.action) {
        case Action::acquire:
            return core::AcquireRequest{.scope = scope,
                                        .owner = owner,
                                        .ttl = request.ttl.value_or(options_.default_ttl),
                                        .grace = options_.grace,
                                        .memory = owner_memory,
                                        .renew_own = true,
                                        .is_only_kind = true};
        case Action::release: return service::ReleaseOwn{.scope = scope, .owner = owner};
        case Action::status: break;
    }
    return service::Inspect{.scope = scope, .holders = {.limit = 1}};
}

}  // namespace holdfast::doors::homelab
