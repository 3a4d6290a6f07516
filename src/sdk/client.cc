#include "holdfast/client.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "renewal/lease_source.h"
#include "sdk/heartbeat.h"
#include "sdk/http/events.h"
#include "sdk/http/exchange.h"
#include "sdk/http/leaders.h"
#include "sdk/lease_calls.h"
#include "values/lease_request.h"

namespace holdfast {

namespace sdk {

// Session: the inside of a Client, shared with its guards.
class Session final : public renewal::LeaseSource {
  public:
    explicit Session(std::unique_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}

    [[nodiscard]] Exchange& exchange() { return *exchange_; }
    [[nodiscard]] LeaseCalls& calls() { return calls_; }

    [[nodiscard]] LockResult<Lease> acquire(const LeaseRequest& request,
                                            std::chrono::milliseconds wait,
                                            const std::stop_token& stop) override {
        return calls_.acquire(request, wait, stop);
    }
    LockResult<void> release(const Lease& lease) override { return calls_.release(lease); }
    void release_quietly(const Lease& lease) override { calls_.release_briefly(lease); }
    [[nodiscard]] renewal::Watcher& watcher() override { return heartbeat_.watcher(); }

  private:
    const std::unique_ptr<Exchange> exchange_;
    LeaseCalls calls_{*exchange_};
    Heartbeat heartbeat_{[this](const Lease& lease, Renewal renewal) {
        renewal.timeout = std::min(renewal.timeout, exchange_->options().timeout);
        return calls_.renew_once(lease, renewal);
    }};
};

}  // namespace sdk

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
    return session_->hold(request, wait, std::move(options), stop);
}

LockResult<Lease> Client::try_acquire(const LeaseRequest& request) {
    return session_->acquire(request, std::chrono::milliseconds{0}, {});
}

LockResult<Lease> Client::acquire(const LeaseRequest& request, std::chrono::milliseconds wait,
                                  const std::stop_token& stop) {
    return session_->acquire(request, wait, stop);
}

LockResult<Lease> Client::acquire_with_retry(const LeaseRequest& request,
                                             const RetryOptions& options,
                                             const std::stop_token& stop) {
    return session_->acquire_with_retry(request, options, stop);
}

LockResult<Lease> Client::renew(const Lease& lease, std::optional<std::chrono::milliseconds> ttl) {
    return session_->calls().renew(lease, ttl.value_or(lease.ttl));
}

LockResult<Lease> Client::renew(std::string_view token,
                                std::optional<std::chrono::milliseconds> ttl) {
    return renew(values::lease_of_token(token), ttl);
}

LockResult<void> Client::release(const Lease& lease) {
    return session_->release(lease);
}

// Nobody knows how long the lease lasts: it is worth as many attempts as any other request.
LockResult<void> Client::release(std::string_view token) {
    Lease lease = values::lease_of_token(token);
    lease.lasts_until = BootClock::now() + std::chrono::hours{1};
    return session_->release(lease);
}

LockResult<Lease> Client::get_by_token(std::string_view token) {
    return session_->calls().find(token);
}

LockResult<LeaseGuard> Client::start_heartbeat(const Lease& lease, HeartbeatOptions options) {
    return session_->start_heartbeat(lease, std::move(options));
}

LockResult<std::uint64_t> Client::pass_fence(std::string_view resource,
                                             std::uint64_t fencing_token) {
    return session_->calls().pass_fence(resource, fencing_token);
}

LockResult<std::optional<std::uint64_t>> Client::get_fence(std::string_view resource) {
    return session_->calls().get_fence(resource);
}

LockResult<std::optional<std::uint64_t>> Client::drop_fence(std::string_view resource) {
    return session_->calls().drop_fence(resource);
}

LockResult<std::vector<Lease>> Client::list() {
    return session_->calls().list();
}

LockResult<std::uint64_t> Client::force_release(const LockScope& scope) {
    return session_->calls().force_release(scope);
}

LockResult<Lease> Client::check(std::string_view token, const LockScope& scope, LockMode mode) {
    return session_->calls().check(token, scope, mode);
}

LockResult<LeaseGuard> Client::campaign(const Candidacy& candidacy, HeartbeatOptions options,
                                        const std::stop_token& stop) {
    return session_->campaign(candidacy, std::move(options), stop);
}

LockResult<Lease> Client::set_value(const Lease& lease, std::string_view value) {
    return session_->calls().set_value(lease, value);
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
    if (const auto& later = answer.error().answer) {
        return ServerAnswer{.status = later->status, .body = later->text};
    }
    return answer.error().error;
}

}  // namespace holdfast
