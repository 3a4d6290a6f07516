#include "doors/lockserver/lockserver_handler.h"

#include <utility>

#include "base/text/number.h"
#include "doors/answers/late_answer.h"
#include "doors/lockserver/lock_json.h"
#include "doors/lockserver/lockserver_answer.h"
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
        default: return core::Scope::named(name);
    }
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
        return service::List{.query = query};
    }
    service::Request operator()(const ForceRelease& request) const {
        return service::ForceRelease{.scope = scope_of(request), .or_else = or_else(request)};
    }
    service::Request operator()(const WatchEvents&) const { return service::Measure{}; }
};

}  // namespace

LockserverHandler::LockserverHandler(service::Port& port, EventStreams& streams,
                                     const service::Clock& clock)
    : port_(port), streams_(streams), clock_(clock) {}

void LockserverHandler::handle(const net::HttpRequest& http, net::HttpReply& reply) {
    body_.clear();
    const auto refuse = [&](const Fault& fault) {
        append_error(body_, fault.error);
        body_ += '\n';
        if (fault.allowed_methods.empty()) return reply.send(fault.status, json, body_);
        reply.send(fault.status, json, body_, {{"Allow", fault.allowed_methods}});
    };
    auto request = parse_request({.method = http.method,
                                  .path = http.path,
                                  .query = http.query,
                                  .body = http.body,
                                  .last_event_id = http.header("Last-Event-ID"),
                                  .is_privileged = http.is_privileged});
    if (!request) return refuse(request.error());
    if (const auto* const watch = std::get_if<WatchEvents>(&*request)) {
        return streams_.open(*watch, reply);
    }
    if (std::holds_alternative<ForceRelease>(*request) && !http.is_privileged) {
        return refuse(
            {.status = 403, .error = "ending somebody else's lease needs the admin token"});
    }
    if (const service::Response* response = port_.submit(std::visit(Translator{}, *request))) {
        const int status = append_answer(body_, *request, *response, clock_);
        return answers::send_json(reply, status, body_);
    }
    answers::answer_later<Acquire>(std::move(*request), reply, port_, clock_);
}

}  // namespace holdfast::doors::lockserver
