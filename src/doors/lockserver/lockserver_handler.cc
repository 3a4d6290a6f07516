#include "doors/lockserver/lockserver_handler.h"

#include <utility>

#include "base/text/number.h"
#include "doors/answers/late_answer.h"
#include "doors/lockserver/lock_json.h"
#include "doors/lockserver/lockserver_answer.h"
#include "rights/denial.h"
#include "service/doors.h"
#include "service/wait_limits.h"

namespace holdfast::doors::lockserver {

namespace {

constexpr std::string_view json = "application/json";

core::Owner owner(const std::string& id) {
    return {.door = service::lockserver_door, .name = id};
}

// The scope that a lease of this door must be on.
core::Scope scope_of(const LeaseId& lease, const std::string& lock_name) {
    const bool is_semaphore = lease.kind == core::ScopeKind::semaphore;
    return is_semaphore ? core::Scope::semaphore(lock_name) : core::Scope::named(lock_name);
}

// The scope that a request for one lock means.
template <class OneLock>
core::Scope scope_of(const OneLock& request) {
    const std::string& name = request.lock_name;
    switch (request.kind.value_or(core::ScopeKind::named)) {
        case core::ScopeKind::semaphore: return core::Scope::semaphore(name);
        case core::ScopeKind::path: return core::Scope::path(name);
        case core::ScopeKind::inode:
            return core::Scope::of_inode(base::parse_decimal<std::uint64_t>(name).value_or(0));
        case core::ScopeKind::range:
            return core::parse_scope("range:" + name).value_or(core::Scope::of_inode(0));
        case core::ScopeKind::named: break;
    }
    return core::Scope::named(name);
}

// Where to look if nothing is known of that.
template <class OneLock>
std::optional<core::Scope> or_else(const OneLock& request) {
    if (request.kind) return std::nullopt;
    return core::Scope::semaphore(request.lock_name);
}

// What the service is asked. Its views point into the request.
struct Translator {
    service::Request operator()(const Acquire& request) const {
        const bool is_semaphore = request.limit > 1;
        return core::AcquireRequest{
            .scope = is_semaphore ? core::Scope::semaphore(request.lock_name)
                                  : core::Scope::named(request.lock_name),
            .owner = owner(request.owner_id),
            .mode = request.mode,
            .limit = request.limit,
            .ttl = request.ttl,
            .wait = service::to_wait(request.wait),
            .is_only_kind = true,
            .notes = {.request_id = request.request_id, .metadata = request.metadata}};
    }
    service::Request operator()(const Renew& request) const {
        return core::RenewRequest{.token = request.lease.token,
                                  .scope = scope_of(request.lease, request.lock_name),
                                  .owner = owner(request.owner_id),
                                  .ttl = request.extend_by,
                                  .never_shorten = true};
    }
    service::Request operator()(const Release& request) const {
        return core::ReleaseRequest{.token = request.lease.token,
                                    .scope = scope_of(request.lease, request.lock_name),
                                    .owner = owner(request.owner_id)};
    }
    service::Request operator()(const Get& request) const {
        return service::Inspect{.scope = scope_of(request),
                                .or_else = or_else(request),
                                .waiters_max = request.with_queue ? shown_waiters_max : 0,
                                .holders = {.after = request.holders_after.value_or(core::Fence{}),
                                            .limit = shown_holders_max + 1}};
    }
    service::Request operator()(const ListLocks& request) const {
        core::ListQuery query{
            .prefix = request.prefix, .limit = request.limit + 1, .holders_max = shown_holders_max};
        if (!request.after.empty()) query.after = core::parse_scope(request.after);
        query.filter = request.readable;
        return service::List{.query = query};
    }
    service::Request operator()(const ForceRelease& request) const {
        return service::ForceRelease{.scope = scope_of(request), .or_else = or_else(request)};
    }
    service::Request operator()(const WatchEvents&) const { return service::Measure{}; }
};

// What a client needs for a request. No value: it is shown only what it may read.
struct NeedOf {
    using Need = std::optional<rights::Need>;

    Need operator()(const Acquire& request) const {
        return need(rights::Right::lock, request.limit > 1
                                             ? core::Scope::semaphore(request.lock_name)
                                             : core::Scope::named(request.lock_name));
    }
    Need operator()(const Renew& request) const {
        return need(rights::Right::lock, scope_of(request.lease, request.lock_name));
    }
    Need operator()(const Release& request) const {
        return need(rights::Right::lock, scope_of(request.lease, request.lock_name));
    }
    Need operator()(const Get& request) const {
        return need(rights::Right::read, whole(scope_of(request)));
    }
    Need operator()(const ForceRelease& request) const {
        return need(rights::Right::admin, whole(scope_of(request)));
    }
    Need operator()(const ListLocks&) const { return std::nullopt; }
    Need operator()(const WatchEvents&) const { return std::nullopt; }

  private:
    static Need need(rights::Right right, const core::Scope& scope) {
        return rights::Need{right, rights::Door::http, scope};
    }
    // A request for a range is about all holders of its inode.
    static core::Scope whole(const core::Scope& scope) {
        return scope.is_of_inode() ? core::Scope::of_inode(scope.inode) : scope;
    }
};

using net::Privilege;
using net::Reach;
using Body = net::BodyPolicy;

constexpr net::Route all_routes[] = {
    {"POST", "/v1/locks/{lock}/acquire", Privilege::lock, Body::whole, "acquire", Action::acquire,
     Reach::asked},
    {"POST", "/v1/locks/{lock}/renew", Privilege::lock, Body::whole, "renew", Action::renew,
     Reach::asked},
    {"POST", "/v1/locks/{lock}/release", Privilege::lock, Body::whole, "release", Action::release,
     Reach::asked},
    {"GET, HEAD", "/v1/locks", Privilege::read, Body::ignored, "listLocks", Action::list,
     Reach::asked},
    {"GET, HEAD", "/v1/locks/{lock}", Privilege::read, Body::ignored, "lookAtLock", Action::get,
     Reach::asked},
    {"DELETE", "/v1/locks/{lock}", Privilege::administer, Body::ignored, "forceRelease",
     Action::force_release, Reach::asked, "ending somebody else's lease needs the admin token"},
    {"GET", "/v1/events", Privilege::read, Body::ignored, "watchEvents", Action::watch,
     Reach::asked},
};

}  // namespace

LockserverHandler::LockserverHandler(service::Port& port, EventStreams& streams,
                                     const service::Clock& clock)
    : port_(port), streams_(streams), clock_(clock) {}

std::span<const net::Route> LockserverHandler::routes() {
    return all_routes;
}

void LockserverHandler::refuse(const net::HttpRequest& http, const net::RouteRefusal& refusal,
                               net::HttpReply& reply) {
    const bool is_wrong_method = refusal.status == 405;
    if (refusal.status == 404 || (is_wrong_method && is_unknown_for(http.method, http.path))) {
        return send_fault(explain_path({http.method, http.path}), reply);
    }
    if (refusal.status == 403) {
        const Fault fault{.status = 403, .error = std::string(refusal.reason)};
        return send_fault(fault, reply, {}, refusal.denial);
    }
    send_fault({.status = 405, .error = "method not allowed"}, reply, refusal.allowed_methods);
}

void LockserverHandler::send_fault(const Fault& fault, net::HttpReply& reply,
                                   std::string_view allowed_methods, const rights::Denial* denial) {
    body_.clear();
    append_error(body_, fault.error);
    if (denial != nullptr) rights::add_to_json(body_, *denial);
    body_ += '\n';
    if (allowed_methods.empty()) return reply.send(fault.status, json, body_);
    reply.send(fault.status, json, body_, {{"Allow", allowed_methods}});
}

void LockserverHandler::handle(const net::RoutedRequest& routed, net::HttpReply& reply) {
    auto request = parse_request(routed.route.action.as<Action>(),
                                 {.lock_name = routed.parameter,
                                  .query = routed.http.query,
                                  .body = routed.http.body,
                                  .last_event_id = routed.http.header("Last-Event-ID"),
                                  .is_admin = routed.is_admin()});
    if (!request) return send_fault(request.error(), reply);
    const rights::Token* const client = routed.client;
    if (const auto need = std::visit(NeedOf{}, *request)) {
        if (const auto denial = rights::deny(client, *need)) {
            return send_fault({.status = 403, .error = denial->sentence}, reply, {}, &*denial);
        }
    }
    if (auto* const get = std::get_if<Get>(&*request)) {
        get->readable = rights::readable_by(client, rights::Door::http);
    } else if (auto* const list = std::get_if<ListLocks>(&*request)) {
        list->readable = rights::readable_by(client, rights::Door::http);
    }
    if (const auto* const watch = std::get_if<WatchEvents>(&*request)) {
        return streams_.open(*watch, client, reply);
    }
    if (const auto* const force = std::get_if<ForceRelease>(&*request)) {
        return end_by_force(*force, routed, reply);
    }
    const auto allowed = std::holds_alternative<Acquire>(*request)
                             ? rights::allowed_to(client, rights::Right::lock, rights::Door::http)
                             : nullptr;
    if (const auto* response =
            port_.submit(std::visit(Translator{}, *request), routed.by, allowed)) {
        body_.clear();
        const int status = append_answer(body_, *request, *response, clock_);
        return answers::send_json(reply, status, body_);
    }
    answers::answer_later<Acquire>(std::move(*request), reply, port_, clock_);
}

// What holds the lock may also be on something that a client with limits may not end: then nothing ends.
void LockserverHandler::end_by_force(const ForceRelease& request, const net::RoutedRequest& routed,
                                     net::HttpReply& reply) {
    constexpr rights::Right right = rights::Right::admin;
    constexpr rights::Door door = rights::Door::http;
    const bool has_limits = routed.client != nullptr && !routed.is_admin();
    const auto later = std::make_shared<net::DeferredReply>(reply.defer());
    auto answer = [&port = port_, &clock = clock_, request, later, by = std::string(routed.by),
                   client = rights::keep(routed.client)](const service::Response& response) {
        std::string body;
        const core::Outcome& outcome = response.outcome;
        if (response.failure.empty() && outcome.refusal == core::Refusal::denied) {
            const auto denial = rights::refuse_lease(*client, {right, door, outcome.lease.scope});
            append_error(body, denial.sentence);
            rights::add_to_json(body, denial);
            return later->send(403, json, body.append("\n"));
        }
        const bool is_done = response.failure.empty() && response.count > 0;
        const int status = append_answer(body, request, response, clock);
        if (is_done) {
            const std::string what = core::to_text(scope_of(request));
            service::tell(port, {service::AdminAction::force_release, what}, by);
        }
        answers::send_json(*later, status, body);
    };
    service::ask(port_, Translator{}(request), std::move(answer), routed.by,
                 has_limits ? rights::allowed_to(routed.client, right, door) : nullptr);
}

}  // namespace holdfast::doors::lockserver
