#include "doors/scoped/scoped_handler.h"

#include <utility>
#include <vector>

#include "doors/answers/late_answer.h"
#include "doors/scoped/scoped_answer.h"
#include "rights/denial.h"
#include "service/doors.h"
#include "service/events/event_scopes.h"
#include "service/wait_limits.h"

namespace holdfast::doors::scoped {

namespace {

using rights::Right;

constexpr std::string_view json = "application/json";

// Turns a request of this door into one of the service, whose views point into the former and into
// this.
struct Translator {
    const rights::Token* client;
    std::vector<core::SetMember> members = {};

    service::Request operator()(const Acquire& request) {
        for (const OwnedMember& member : request.members) members.push_back(member.view());
        return core::AcquireRequest{.scope = request.scope.view(),
                                    .owner = {.door = service::scoped_door, .name = request.holder},
                                    .mode = request.mode,
                                    .limit = request.limit,
                                    .members = members,
                                    .ttl = request.duration,
                                    .wait = service::to_wait(request.wait),
                                    .is_only_kind = true,
                                    .on_deadlock = request.refuses_deadlock
                                                       ? core::OnDeadlock::refuse
                                                       : core::OnDeadlock::tell,
                                    .notes = {.request_id = request.request_id,
                                              .metadata = request.metadata,
                                              .waiter = request.waiter},
                                    .value = request.value};
    }
    service::Request operator()(const Renew& request) const {
        return core::RenewRequest{.token = request.token, .ttl = request.duration};
    }
    service::Request operator()(const SetValue& request) const {
        return core::SetValueRequest{.token = request.token, .value = request.value};
    }
    service::Request operator()(const LookAtElection& request) const {
        return service::Inspect{.scope = core::Scope::named(request.name)};
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
        query.filter = rights::readable_by(client, rights::Door::http);
        return service::ListLeases{.query = query};
    }
    service::Request operator()(const ListDeadlocks&) const { return service::ListDeadlocks{}; }
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

// What a client needs for a request. The lease of a token has to be looked up first, so that what it is
// on is known; a listing shows only what the client may read: these have no value.
struct NeedOf {
    using Need = std::optional<rights::Need>;

    Need operator()(const Acquire& request) const {
        return need(Right::lock, request.scope.view());
    }
    Need operator()(const CheckToken& request) const {
        return need(Right::read, request.scope.view());
    }
    // The resource of a fence is a name.
    Need operator()(const RaiseFence& request) const {
        return need(Right::lock, core::Scope::named(request.resource));
    }
    Need operator()(const ReadFence& request) const {
        return need(Right::read, core::Scope::named(request.resource));
    }
    Need operator()(const DropFence& request) const {
        return need(Right::admin, core::Scope::named(request.resource));
    }
    Need operator()(const LookAtElection& request) const {
        return need(Right::read, core::Scope::named(request.name));
    }
    Need operator()(const ListLeases&) const { return std::nullopt; }
    Need operator()(const ListDeadlocks&) const { return std::nullopt; }
    Need operator()(const Renew&) const { return std::nullopt; }
    Need operator()(const SetValue&) const { return std::nullopt; }
    Need operator()(const Release&) const { return std::nullopt; }
    Need operator()(const Look&) const { return std::nullopt; }

  private:
    static Need need(Right right, const core::Scope& scope) {
        return rights::Need{right, rights::Door::http, scope};
    }
};

// Why the client may not do this with every scope of the set. No value: it may.
std::optional<rights::Denial> deny_any(const rights::Token* client, Right right,
                                       std::span<const core::SetMember> members) {
    for (const core::SetMember& member : members) {
        if (auto denial = rights::deny(client, {right, rights::Door::http, member.scope})) {
            return denial;
        }
    }
    return std::nullopt;
}

std::optional<rights::Denial> find_denial(const rights::Token* client,
                                          const ScopedRequest& request) {
    if (client == nullptr) return std::nullopt;
    if (const auto* const acquire = std::get_if<Acquire>(&request)) {
        std::vector<core::SetMember> members;
        for (const OwnedMember& member : acquire->members) members.push_back(member.view());
        if (auto denial = deny_any(client, Right::lock, members)) return denial;
    }
    const auto need = std::visit(NeedOf{}, request);
    return need ? rights::deny(client, *need) : std::nullopt;
}

// Tells the request what its answer may name: a client with limits sees only what it may read.
void set_readable(ScopedRequest& request, const rights::Token* client) {
    if (client == nullptr) return;
    std::visit(
        [client](auto& asked) {
            if constexpr (requires { asked.readable; }) {
                asked.readable = rights::readable_by(client, rights::Door::http);
            }
        },
        request);
}

// A request about the lease of a token: the token, and the right that it needs on the lock.
struct OfLease {
    core::Token token;
    Right right;
};

// A lease on several scopes needs the right on all of them. The client has named none of them.
std::optional<rights::Denial> deny_lease(const rights::Token* client, Right right,
                                         const core::LeaseView& lease) {
    for (const core::Scope& scope : service::scopes_of(lease)) {
        const rights::Need need{right, rights::Door::http, scope};
        const bool is_allowed = client == nullptr || client->may(right, need.door, scope);
        if (!is_allowed) return rights::refuse_lease(*client, need);
    }
    return std::nullopt;
}

std::optional<OfLease> of_lease(const ScopedRequest& request) {
    if (const auto* renew = std::get_if<Renew>(&request)) return OfLease{renew->token, Right::lock};
    if (const auto* release = std::get_if<Release>(&request)) {
        return OfLease{release->token, Right::lock};
    }
    if (const auto* value = std::get_if<SetValue>(&request)) {
        return OfLease{value->token, Right::lock};
    }
    if (const auto* look = std::get_if<Look>(&request)) return OfLease{look->token, Right::read};
    return std::nullopt;
}

using net::Privilege;
using net::Reach;
using Body = net::BodyPolicy;

constexpr net::Route all_routes[] = {
    {"GET, HEAD", "/v1/leases", Privilege::read, Body::ignored, "listLeases", Action::list,
     Reach::asked},
    {"POST", "/v1/leases", Privilege::lock, Body::whole, "takeLease", Action::acquire,
     Reach::asked},
    {"GET, HEAD", "/v1/leases/{token}", Privilege::read, Body::ignored, "lookAtLease", Action::look,
     Reach::asked},
    {"DELETE", "/v1/leases/{token}", Privilege::lock, Body::ignored, "giveLeaseBack",
     Action::release, Reach::asked},
    {"POST", "/v1/leases/{token}/renew", Privilege::lock, Body::whole, "renewLease", Action::renew,
     Reach::asked},
    {"GET, HEAD", "/v1/deadlocks", Privilege::read, Body::ignored, "listDeadlocks",
     Action::list_deadlocks, Reach::asked},
    {"PUT", "/v1/leases/{token}/value", Privilege::lock, Body::whole, "setLeaseValue",
     Action::set_value, Reach::asked},
    {"GET, HEAD", "/v1/elections/{name}", Privilege::read, Body::ignored, "lookAtElection",
     Action::look_at_election, Reach::asked},
    {"POST", "/v1/fence/check", Privilege::read, Body::whole, "checkToken", Action::check_token,
     Reach::asked},
    {"GET, HEAD", "/v1/fence/{resource}", Privilege::read, Body::ignored, "lookAtFence",
     Action::read_fence, Reach::asked},
    {"POST", "/v1/fence/{resource}", Privilege::lock, Body::whole, "raiseFence",
     Action::raise_fence, Reach::asked},
    {"DELETE", "/v1/fence/{resource}", Privilege::administer, Body::ignored, "dropFence",
     Action::drop_fence, Reach::asked, "forgetting a resource's fence needs the admin token"},
};

}  // namespace

ScopedHandler::ScopedHandler(const ScopedOptions& options, service::Port& port,
                             ElectionWatches& elections, const service::Clock& clock)
    : options_(options), port_(port), elections_(elections), clock_(clock) {}

std::span<const net::Route> ScopedHandler::routes() {
    return all_routes;
}

void ScopedHandler::refuse(const net::HttpRequest& http, const net::RouteRefusal& refusal,
                           net::HttpReply& reply) {
    if (refusal.status == 404) return send_fault(explain_path(http.path), reply);
    if (refusal.status == 403) {
        return send_fault(
            {.status = 403, .code = "Forbidden", .message = std::string(refusal.reason)}, reply, {},
            refusal.denial);
    }
    send_fault({.status = 405,
                .code = "MethodNotAllowed",
                .message = "allowed here: " + std::string(refusal.allowed_methods)},
               reply, refusal.allowed_methods);
}

void ScopedHandler::send_fault(const Fault& fault, net::HttpReply& reply,
                               std::string_view allowed_methods, const rights::Denial* denial) {
    body_.clear();
    append_fault(body_, fault);
    if (denial != nullptr) rights::add_to_json(body_, *denial);
    if (allowed_methods.empty()) return reply.send(fault.status, json, body_);
    reply.send(fault.status, json, body_, {{"Allow", allowed_methods}});
}

void ScopedHandler::handle(const net::RoutedRequest& routed, net::HttpReply& reply) {
    auto request = parse_request(routed.route.action.as<Action>(),
                                 {.name = routed.parameter,
                                  .query = routed.http.query,
                                  .body = routed.http.body,
                                  .accept = routed.http.header("Accept").value_or("")},
                                 options_);
    if (!request) return send_fault(request.error(), reply);
    const rights::Token* const client = routed.client;
    if (const auto denial = find_denial(client, *request)) {
        body_.clear();
        const int status = append_denial(body_, *denial);
        return reply.send(status, json, body_);
    }
    set_readable(*request, client);
    if (const auto* const election = std::get_if<LookAtElection>(&*request)) {
        if (election->is_watch) return elections_.open(*election, client, reply);
    }
    const bool has_limits =
        client != nullptr && client->everywhere(rights::Door::http) < rights::Right::lock;
    if (has_limits && of_lease(*request)) return find_lease(std::move(*request), routed, reply);
    Translator translator{client};
    const auto allowed = std::holds_alternative<Acquire>(*request)
                             ? rights::allowed_to(client, Right::lock, rights::Door::http)
                             : nullptr;
    if (const auto* response = port_.submit(std::visit(translator, *request), routed.by, allowed)) {
        body_.clear();
        const int status = append_answer(body_, *request, *response, clock_);
        return answers::send_json(reply, status, body_);
    }
    answers::answer_later<Acquire>(std::move(*request), reply, port_, clock_);
}

// The client has limits: what the lease is on decides whether it may do this. A lease never changes
// what it is on, so the answer is still true when the request itself is decided.
void ScopedHandler::find_lease(ScopedRequest request, const net::RoutedRequest& routed,
                               net::HttpReply& reply) {
    const core::Token token = of_lease(request)->token;
    auto go_on = [this, request = std::move(request), kept = rights::keep(routed.client),
                  by = std::string(routed.by),
                  later = reply.defer()](const service::Response& found) mutable {
        const bool is_known =
            found.failure.empty() && found.outcome.kind == core::Outcome::Kind::found;
        const auto denial =
            is_known ? deny_lease(kept.get(), of_lease(request)->right, found.outcome.lease)
                     : std::nullopt;
        if (denial) {
            std::string body;
            const int status = append_denial(body, *denial);
            return later.send(status, json, body);
        }
        Translator translator{kept.get()};
        if (const auto* response = port_.submit(std::visit(translator, request), by)) {
            std::string body;
            const int status = append_answer(body, request, *response, clock_);
            return answers::send_json(later, status, body);
        }
        port_.await(std::make_unique<answers::LateAnswer<ScopedRequest>>(std::move(request),
                                                                         std::move(later), clock_));
    };
    if (const service::Response* response = port_.submit(service::Find{.token = token})) {
        return go_on(*response);
    }
    port_.await(service::answer_by(std::move(go_on)));
}

}  // namespace holdfast::doors::scoped
