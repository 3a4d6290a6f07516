// Client and LeaseGuard: what a program sees of the client of a server.

#include "holdfast/client.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "holdfast/lease_guard.h"
#include "sdk/heartbeat.h"
#include "sdk/http/events.h"
#include "sdk/http/exchange.h"
#include "sdk/lease_calls.h"

namespace holdfast {

namespace sdk {

// Session: the inside of a Client, shared with its guards.
class Session {
  public:
    explicit Session(std::unique_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    [[nodiscard]] Exchange& exchange() { return *exchange_; }
    [[nodiscard]] LeaseCalls& calls() { return calls_; }
    [[nodiscard]] Heartbeat& heartbeat() { return heartbeat_; }

  private:
    const std::unique_ptr<Exchange> exchange_;
    LeaseCalls calls_{*exchange_};
    Heartbeat heartbeat_{[this](const Lease& lease, Renewal renewal) {
        renewal.timeout = std::min(renewal.timeout, exchange_->options().timeout);
        return calls_.renew_once(lease, renewal);
    }};
};

}  // namespace sdk

namespace {

// Whether the lease has ended, so that it need not be released.
bool is_over(const std::optional<LockError>& loss) {
    return loss && (std::holds_alternative<LockExpired>(*loss) ||
                    std::holds_alternative<LockNotFound>(*loss));
}

}  // namespace

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
    return session_->calls().pass_fence(resource, fencing_token);
}

LockResult<std::optional<std::uint64_t>> Client::get_fence(std::string_view resource) {
    return session_->calls().get_fence(resource);
}

LockResult<Lease> Client::check(std::string_view token, const LockScope& scope, LockMode mode) {
    return session_->calls().check(token, scope, mode);
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
    if (const auto& later = answer.error().answer) {
        return ServerAnswer{.status = later->status, .body = later->text};
    }
    return answer.error().error;
}

LeaseGuard::LeaseGuard(std::shared_ptr<sdk::Session> session, std::shared_ptr<sdk::Hold> hold)
    : session_(std::move(session)), hold_(std::move(hold)) {}

LeaseGuard::LeaseGuard(LeaseGuard&& other) noexcept = default;

LeaseGuard& LeaseGuard::operator=(LeaseGuard&& other) noexcept {
    if (this == &other) return *this;
    let_go();
    session_ = std::move(other.session_);
    hold_ = std::move(other.hold_);
    is_released_ = other.is_released_;
    return *this;
}

LeaseGuard::~LeaseGuard() {
    let_go();
}

bool LeaseGuard::is_guaranteed() const {
    return time_left() > std::chrono::milliseconds{0};
}

std::chrono::milliseconds LeaseGuard::time_left() const {
    CHECK(hold_);
    return session_->heartbeat().time_left(*hold_);
}

Lease LeaseGuard::lease() const {
    CHECK(hold_);
    return session_->heartbeat().lease_of(*hold_);
}

std::uint64_t LeaseGuard::fencing_token() const {
    return lease().fencing_token;
}

std::stop_token LeaseGuard::stop_token() const {
    CHECK(hold_);
    return hold_->stop.get_token();
}

LockResult<void> LeaseGuard::release() {
    CHECK(hold_);
    if (std::exchange(is_released_, true)) return {};
    auto loss = session_->heartbeat().let_go(hold_);
    if (is_over(loss)) return *std::move(loss);
    auto released = session_->calls().release(lease());
    if (loss) return *std::move(loss);
    return released;
}

void LeaseGuard::let_go() {
    if (!hold_ || std::exchange(is_released_, true)) return;
    const auto loss = session_->heartbeat().let_go(hold_);
    if (!is_over(loss)) session_->calls().release_briefly(lease());
}

}  // namespace holdfast
