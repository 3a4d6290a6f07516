#include "holdfast/client.h"

#include <utility>

#include "sdk/fences.h"
#include "sdk/http/watching.h"
#include "sdk/session.h"

namespace holdfast {

Client::Client(std::shared_ptr<sdk::Session> session) : session_(std::move(session)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

LockResult<Client> Client::open(const ClientOptions& options) {
    auto exchange = sdk::Exchange::open(options);
    if (!exchange) return exchange.error();
    return Client(std::make_shared<sdk::Session>(*std::move(exchange)));
}

LockResult<LeaseGuard> Client::hold(const LeaseRequest& request, std::chrono::milliseconds wait,
                                    HeartbeatOptions options, const std::stop_token& stop) {
    if (auto fault = sdk::Heartbeat::find_fault(options, request.ttl)) return *std::move(fault);
    const auto lease = acquire(request, wait, stop);
    if (!lease) return lease.error();
    auto guard = start_heartbeat(*lease, std::move(options));
    if (!guard) session_->calls().release_briefly(*lease);
    return guard;
}

LockResult<Lease> Client::try_acquire(const LeaseRequest& request) {
    return session_->calls().acquire(request, std::chrono::milliseconds{0}, {});
}

LockResult<Lease> Client::acquire(const LeaseRequest& request, std::chrono::milliseconds wait,
                                  const std::stop_token& stop) {
    return session_->calls().acquire(request, wait, stop);
}

LockResult<Lease> Client::acquire_with_retry(const LeaseRequest& request,
                                             const RetryOptions& options,
                                             const std::stop_token& stop) {
    return session_->calls().acquire_with_retry(request, options, stop);
}

LockResult<Lease> Client::renew(const Lease& lease, std::optional<std::chrono::milliseconds> ttl) {
    return session_->calls().renew(lease, ttl.value_or(lease.ttl));
}

LockResult<void> Client::release_once(const Lease& lease) {
    return session_->calls().release(lease);
}

LockResult<Lease> Client::get_by_token(std::string_view token) {
    return session_->calls().find(token);
}

LockResult<LeaseGuard> Client::start_heartbeat(const Lease& lease, HeartbeatOptions options) {
    if (auto fault = sdk::Heartbeat::find_fault(options, lease.ttl)) return *std::move(fault);
    auto hold = session_->heartbeat().keep(lease, std::move(options));
    if (!hold) return hold.error();
    return LeaseGuard(session_, *std::move(hold));
}

LockResult<std::uint64_t> Client::pass_fence(std::string_view resource,
                                             std::uint64_t fencing_token) {
    return sdk::pass_fence(session_->exchange(), resource, fencing_token);
}

LockResult<std::optional<std::uint64_t>> Client::get_fence(std::string_view resource) {
    return sdk::get_fence(session_->exchange(), resource);
}

LockResult<Lease> Client::check(std::string_view token, const LockScope& scope, LockMode mode) {
    return sdk::check(session_->exchange(), token, scope, mode);
}

LockResult<LeaseGuard> Client::campaign(const Candidacy& candidacy, HeartbeatOptions options,
                                        const std::stop_token& stop) {
    return hold({.scope = LockScope::Named{candidacy.election},
                 .owner = candidacy.candidate,
                 .ttl = candidacy.ttl,
                 .metadata = candidacy.value},
                std::chrono::milliseconds::max(), std::move(options), stop);
}

LockResult<void> Client::observe(std::string_view election,
                                 const std::function<void(const std::optional<Leader>&)>& on_change,
                                 const std::stop_token& stop) {
    return sdk::observe(session_->exchange(), election, on_change, stop);
}

LockResult<void> Client::watch(const WatchOptions& options,
                               const std::function<void(const LockEvent&)>& on_event,
                               const std::stop_token& stop) {
    return sdk::watch(session_->exchange(), options, on_event, stop);
}

LockResult<ServerAnswer> Client::ask(const ServerRequest& request) {
    const ClientOptions& options = session_->exchange().options();
    const auto answer = session_->exchange().ask({.method = request.method,
                                                  .target = request.target,
                                                  .body = request.body,
                                                  .timeout = options.timeout,
                                                  .is_repeatable = request.is_repeatable,
                                                  .stop = request.stop},
                                                 sdk::Patience(options.retry_for));
    if (answer) return ServerAnswer{.status = answer->status, .body = answer->text};
    if (const auto& later = answer.error().temporary) {
        return ServerAnswer{.status = later->status, .body = later->text};
    }
    return answer.error().error;
}

}  // namespace holdfast
