#include "etcd/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "etcd/wire/wire.h"

namespace holdfast::etcd {

namespace {

using Kind = Failure::Kind;
using Clock = net::EventLoop::Clock;

// etcd computes a slow hash of the password.
constexpr std::chrono::seconds authenticate_timeout{3};

bool is_about_the_member(Kind kind) {
    return kind == Kind::unknown || kind == Kind::not_done;
}

}  // namespace

base::Result<std::unique_ptr<Client>> Client::open(net::EventLoop& loop, ClientSettings settings) {
    CHECK(!settings.members.empty());
    TRY(auto trust, load_trust(settings));
    return std::unique_ptr<Client>(new Client(loop, std::move(settings), std::move(trust)));
}

base::Result<std::shared_ptr<const net::TlsTrust>> Client::load_trust(
    const ClientSettings& settings) {
    if (!settings.is_tls) return nullptr;
    return net::TlsTrust::load(settings.ca_file, net::TlsTrust::Protocol::http2,
                               settings.certificate);
}

void Client::renew(std::shared_ptr<const net::TlsTrust> trust, std::string password) {
    CHECK((trust == nullptr) == (trust_ == nullptr));
    trust_ = std::move(trust);
    settings_.password = std::move(password);
    current_connection_ = nullptr;
    loop_.schedule(*this);
}

Client::Client(net::EventLoop& loop, ClientSettings settings,
               std::shared_ptr<const net::TlsTrust> trust)
    : loop_(loop),
      settings_(std::move(settings)),
      trust_(std::move(trust)),
      has_token_(settings_.user.empty()),
      timer_(loop, [this] { on_timer(); }) {}

Client::~Client() {
    loop_.unschedule(*this);
    for (auto& one : connections_) {
        one->close();
        loop_.post([dead = std::move(one)] {});
    }
}

CallId Client::begin(Call call) {
    const CallId id = ++last_id_;
    Call& begun = calls_.emplace(id, std::move(call)).first->second;
    set_timer(begun.deadline);
    send(id, begun);
    return id;
}

void Client::send(CallId id, Call& call) {
    const bool is_authenticate = call.path == paths::authenticate;
    if (!has_token_ && !is_authenticate) {
        call.connection = nullptr;
        return authenticate();
    }
    call.token_number = token_number_;
    call.connection = &connection();
    call.connection->call(id, {.path = call.path,
                               .token = is_authenticate ? "" : token_,
                               .needs_leader = call.needs_leader,
                               .stays_open = call.is_watch,
                               .frame = call.frame});
}

void Client::authenticate() {
    if (std::exchange(is_authenticating_, true)) return;
    const std::string request =
        encode_authenticate({.user = settings_.user, .password = settings_.password});
    begin({.path = paths::authenticate,
           .frame = std::make_shared<const std::string>(to_frame(request)),
           .deadline = Clock::now() + authenticate_timeout,
           .done = [this](const Call&, Reply reply) {
               on_token(std::move(reply));
               return true;
           }});
}

// Called at once, not as a callback of somebody else: calls wait for it.
void Client::on_token(Reply reply) {
    is_authenticating_ = false;
    auto token = reply ? decode_authenticate(*reply) : std::nullopt;
    // An etcd that asks nobody for a password says that there is nothing to authenticate.
    const bool is_needless =
        !reply && reply.error().message.find("authentication is not enabled") != std::string::npos;
    has_token_ = token.has_value() || is_needless;
    token_ = token.value_or("");
    ++token_number_;
    std::vector<CallId> waiting;
    for (const auto& [id, call] : calls_) {
        if (!call.connection) waiting.push_back(id);
    }
    for (const CallId id : waiting) {
        const auto found = calls_.find(id);
        if (found == calls_.end()) continue;
        if (has_token_) {
            send(id, found->second);
            continue;
        }
        Failure failure = reply ? Failure{.message = "etcd has given no token"} : reply.error();
        if (failure.kind != Kind::rejected) failure.kind = Kind::not_done;
        finish(id, tl::unexpected(failure));
    }
}

bool Client::ask_for_new_token(CallId id, Call& call) {
    if (settings_.user.empty() || call.path == paths::authenticate) return false;
    if (std::exchange(call.is_repeated, true)) return false;
    // Another call may have found out before, and may have a new one by now.
    if (call.token_number == token_number_) has_token_ = false;
    call.message.clear();
    call.has_message = false;
    send(id, call);
    return true;
}

void Client::on_message(CallId id, std::string message) {
    const auto found = calls_.find(id);
    if (found == calls_.end()) return;
    Call& call = found->second;
    if (call.is_watch) return on_watch_message(id, call, message);
    call.message = std::move(message);
    call.has_message = true;
}

void Client::on_end(CallId id, StreamEnd end) {
    const auto found = calls_.find(id);
    if (found == calls_.end()) return;
    Call& call = found->second;
    if (end.code == code_ok && call.has_message) return finish(id, std::move(call.message));
    if (wants_new_token(end) && ask_for_new_token(id, call)) return;
    if (end.code == code_ok) end.code = -1;
    Failure failure = explain(end, call.connection->name());
    if (is_about_the_member(failure.kind)) turn_away_from(*call.connection);
    finish(id, tl::unexpected(std::move(failure)));
}

void Client::on_failure(CallId id, Failure failure) {
    finish(id, tl::unexpected(std::move(failure)));
}

void Client::on_leaving(Http2Connection& connection) {
    if (connection.is_closed()) turn_away_from(connection);
    if (&connection == current_connection_) current_connection_ = nullptr;
    loop_.schedule(*this);
}

void Client::finish(CallId id, Reply reply) {
    auto node = calls_.extract(id);
    if (node.empty()) return;
    const Call& call = node.mapped();
    if (!call.done(call, std::move(reply))) turn_away_from(*call.connection);
    loop_.schedule(*this);
}

void Client::deliver(std::function<void()> callback) {
    deliveries_.push_back(std::move(callback));
    loop_.schedule(*this);
}

// A callback may begin calls, cancel watches, and destroy this object.
void Client::on_end_of_turn() {
    const std::weak_ptr<int> life = life_;
    while (!deliveries_.empty()) {
        const std::function<void()> callback = std::move(deliveries_.front());
        deliveries_.pop_front();
        callback();
        if (life.expired()) return;
    }
    retire_unused_connections();
}

Http2Connection& Client::connection() {
    if (current_connection_ && current_connection_->is_usable()) return *current_connection_;
    ConnectionListener& own = *this;
    connections_.push_back(
        std::make_unique<Http2Connection>(loop_, current_member(), trust_, settings_.times, own));
    current_connection_ = connections_.back().get();
    return *current_connection_;
}

// Only the first of several failures of a connection moves on to the next member.
void Client::turn_away_from(const Http2Connection& connection) {
    if (&connection != current_connection_) return;
    current_connection_ = nullptr;
    current_ = (current_ + 1) % settings_.members.size();
    loop_.schedule(*this);
}

// Those that will get no more calls, and have none. A connection is destroyed in a turn of its own,
// because the poller may still have an event for it.
void Client::retire_unused_connections() {
    const auto is_used = [&](const std::unique_ptr<Http2Connection>& one) {
        return one.get() == current_connection_ || (!one->is_closed() && !one->is_idle());
    };
    const auto first = std::stable_partition(connections_.begin(), connections_.end(), is_used);
    for (auto one = first; one != connections_.end(); ++one) {
        (*one)->close();
        loop_.post([dead = std::move(*one)] {});
    }
    connections_.erase(first, connections_.end());
}

void Client::set_timer(TimePoint deadline) {
    if (deadline >= timer_due_) return;
    timer_due_ = deadline;
    timer_.call_at(deadline);
}

void Client::on_timer() {
    timer_due_ = TimePoint::max();
    const TimePoint now = Clock::now();
    std::vector<CallId> late;
    for (const auto& [id, call] : calls_) {
        if (call.deadline <= now) late.push_back(id);
    }
    for (const CallId id : late) {
        const auto found = calls_.find(id);
        if (found == calls_.end()) continue;  // it has failed together with another one
        Http2Connection* const connection = found->second.connection;
        if (connection) {
            connection->abandon("has given no answer in time");
        } else {
            finish(id,
                   tl::unexpected(Failure{.kind = Kind::not_done,
                                          .message = "etcd has not confirmed the user in time"}));
        }
    }
    TimePoint next = TimePoint::max();
    for (const auto& [id, call] : calls_) next = std::min(next, call.deadline);
    set_timer(next);
}

}  // namespace holdfast::etcd
