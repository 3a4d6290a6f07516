#include "etcd/wire/http2_connection.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace holdfast::etcd {

namespace {

using Kind = Failure::Kind;
using Clock = net::EventLoop::Clock;

// How often one turn receives: other sockets of the loop have their turn, too.
constexpr int receptions_per_turn = 16;

}  // namespace

Http2Connection::Http2Connection(net::EventLoop& loop, Member member,
                                 std::shared_ptr<const net::TlsTrust> trust, ConnectionTimes times,
                                 ConnectionListener& listener)
    : loop_(loop),
      member_(std::move(member)),
      name_("etcd at " + member_.to_text()),
      trust_(std::move(trust)),
      times_(times),
      listener_(listener),
      timer_(loop, [this] { on_timer(); }),
      connect_deadline_(Clock::now() + times.connect_timeout),
      heard_(Clock::now()) {
    // In a turn of its own: a member that refuses at once is otherwise asked again without end
    // within one turn. The object is handed to post() later, so it is still there.
    loop_.post([this] { start(); });
    set_timer();
}

Http2Connection::~Http2Connection() {
    CHECK(state_ == State::closed);
}

bool Http2Connection::is_usable() const {
    if (state_ == State::closed) return false;
    return !session_ || !session_->is_leaving();
}

void Http2Connection::call(CallId id, Http2Request request) {
    CHECK(is_usable());
    if (is_idle()) heard_ = Clock::now();
    waiting_.emplace(id, std::move(request));
    if (state_ == State::open) loop_.schedule(*this);
    set_timer();
}

void Http2Connection::cancel(CallId id) {
    waiting_.erase(id);
    const auto found =
        std::find_if(sent_.begin(), sent_.end(), [&](const auto& one) { return one.second == id; });
    if (found == sent_.end()) return;
    session_->cancel(found->first);
    sent_.erase(found);
    loop_.schedule(*this);
}

void Http2Connection::start() {
    if (state_ != State::starting) return;
    state_ = State::looking_up;
    auto lookup = net::AddressLookup::start(member_.host, member_.port);
    if (!lookup) return fail(Kind::not_done, "has no address: " + lookup.error().message);
    lookup_ = std::move(*lookup);
    if (lookup_->descriptor() < 0) return use_addresses();
    watch_events(lookup_->descriptor(), EPOLLIN);
}

void Http2Connection::use_addresses() {
    unwatch();
    auto found = lookup_->take();
    lookup_.reset();
    if (!found) return fail(Kind::not_done, "has no address: " + found.error().message);
    addresses_ = std::move(*found);
    std::reverse(addresses_.begin(), addresses_.end());
    try_next_address("");
}

void Http2Connection::try_next_address(std::string last_fault) {
    state_ = State::connecting;
    unwatch();
    transport_.reset();
    while (!addresses_.empty()) {
        const net::SocketAddress address = addresses_.back();
        addresses_.pop_back();
        const int descriptor =
            ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (descriptor < 0) {
            last_fault = std::strerror(errno);
            continue;
        }
        transport_ = std::make_unique<net::Transport>(descriptor);
        net::notice_lost_peer(descriptor);
        if (::connect(descriptor, address.data(), address.size) == 0) return greet();
        if (errno == EINPROGRESS) return watch_events(descriptor, EPOLLOUT);
        last_fault = std::strerror(errno);
        transport_.reset();
    }
    fail(Kind::not_done, "cannot be reached: " + last_fault);
}

void Http2Connection::greet() {
    if (net::is_own_peer(transport_->descriptor())) {
        return try_next_address(std::strerror(ECONNREFUSED));
    }
    state_ = State::greeting;
    if (trust_) transport_->encrypt(*trust_, member_.host);
    Http2Listener& own = *this;
    session_ = std::make_unique<Http2Session>(member_.to_text(), trust_ != nullptr, own);
    flush();
}

void Http2Connection::on_ready(std::uint32_t) {
    int fault = 0;
    socklen_t size = sizeof fault;
    switch (state_) {
        case State::starting:
        case State::closed: return;
        case State::looking_up: return use_addresses();
        case State::connecting:
            ::getsockopt(transport_->descriptor(), SOL_SOCKET, SO_ERROR, &fault, &size);
            return fault == 0 ? greet() : try_next_address(std::strerror(fault));
        case State::greeting:
        case State::open: return receive();
    }
}

void Http2Connection::receive() {
    for (int i = 0; i < receptions_per_turn; ++i) {
        const auto buffer = loop_.read_buffer();
        const net::IoResult result = transport_->receive(buffer);
        if (result.status == net::IoStatus::would_block) break;
        if (result.status != net::IoStatus::moved) return fail_io();
        heard_ = loop_.now();
        is_pinged_ = false;
        if (!session_->receive({buffer.data(), result.bytes})) {
            return fail_session();
        }
    }
    note_progress();
    if (state_ != State::closed) flush();
}

// What follows from the frames that have arrived.
void Http2Connection::note_progress() {
    if (state_ == State::greeting && session_->is_greeted()) {
        state_ = State::open;
        send_waiting();
    }
    if (session_->is_leaving() && !std::exchange(has_said_leaving_, true)) {
        listener_.on_leaving(*this);
    }
    set_timer();
}

void Http2Connection::send_waiting() {
    for (auto& [id, request] : std::exchange(waiting_, {})) {
        const auto stream = session_->request(request);
        if (stream) {
            sent_.emplace(*stream, id);
        } else {
            listener_.on_failure(
                id, {.kind = Kind::not_done, .message = name_ + " takes no more requests"});
        }
    }
}

void Http2Connection::on_end_of_turn() {
    if (state_ != State::open) return;
    send_waiting();
    flush();
}

void Http2Connection::flush() {
    std::string_view output;
    while (!(output = session_->output()).empty()) {
        const net::IoResult result = transport_->send(output);
        if (result.status == net::IoStatus::would_block) break;
        if (result.status != net::IoStatus::moved) return fail_io();
        session_->sent(result.bytes);
    }
    if (output.empty() && session_->is_over()) return fail_session();
    const auto events = transport_->receive_events() |
                        (output.empty() ? std::uint32_t{0} : transport_->send_events());
    watch_events(transport_->descriptor(), events);
}

void Http2Connection::on_message(StreamId stream, std::string message) {
    const auto found = sent_.find(stream);
    if (found != sent_.end()) listener_.on_message(found->second, std::move(message));
}

void Http2Connection::on_end(StreamId stream, StreamEnd end) {
    const auto node = sent_.extract(stream);
    if (!node.empty()) listener_.on_end(node.mapped(), std::move(end));
}

void Http2Connection::on_timer() {
    const auto now = Clock::now();
    if (state_ == State::closed) return;
    if (state_ != State::open) {
        if (now < connect_deadline_) return set_timer();
        return fail(Kind::not_done, "cannot be reached: no answer in time");
    }
    if (is_idle()) return;
    if (is_pinged_ && now >= pinged_ + times_.ping_timeout) {
        return fail(Kind::unknown, "gives no sign of life");
    }
    if (!is_pinged_ && now >= heard_ + times_.ping_after) {
        is_pinged_ = true;
        pinged_ = now;
        session_->ping();
        flush();
        if (state_ == State::closed) return;
    }
    set_timer();
}

void Http2Connection::set_timer() {
    if (state_ == State::closed) return;
    if (state_ != State::open) return timer_.call_at(connect_deadline_);
    if (is_idle()) return timer_.cancel();
    timer_.call_at(is_pinged_ ? pinged_ + times_.ping_timeout : heard_ + times_.ping_after);
}

void Http2Connection::watch_events(int descriptor, std::uint32_t events) {
    if (watched_ == descriptor) {
        if (watched_events_ == events) return;
        loop_.poller().change(descriptor, events, *this);
    } else {
        unwatch();
        if (!loop_.poller().add(descriptor, events, *this)) {
            return fail(Kind::not_done, std::string("cannot be reached: ") + std::strerror(errno));
        }
    }
    watched_ = descriptor;
    watched_events_ = events;
}

void Http2Connection::unwatch() {
    if (watched_ >= 0) loop_.poller().remove(std::exchange(watched_, -1));
}

// The peer has broken the rules of HTTP/2, or has said that it leaves and has answered all calls.
void Http2Connection::fail_session() {
    if (state_ == State::open) return fail(Kind::unknown, "has ended the connection");
    fail(Kind::not_done, "does not speak HTTP/2 (perhaps it wants TLS)");
}

// The socket has failed, or the peer has closed it.
void Http2Connection::fail_io() {
    const std::string fault = transport_->certificate_fault();
    const std::string alert = transport_->alert();
    if (!fault.empty()) return fail(Kind::rejected, "cannot be trusted: " + fault);
    const bool is_open = state_ == State::open;
    if (!alert.empty()) {
        return fail(is_open ? Kind::unknown : Kind::rejected, "refuses our TLS: " + alert);
    }
    if (is_open) return fail(Kind::unknown, "has closed the connection");
    fail(Kind::not_done, trust_ ? "closes the connection, or does not speak TLS"
                                : "closes the connection (perhaps it wants TLS)");
}

void Http2Connection::abandon(const std::string& reason) {
    if (state_ != State::closed) fail(Kind::unknown, reason);
}

void Http2Connection::fail(Failure::Kind kind, const std::string& reason) {
    const auto waiting = std::exchange(waiting_, {});
    const auto sent = std::exchange(sent_, {});
    close();
    const Failure failure{.kind = kind, .message = name_ + " " + reason};
    const Failure unsent{.kind = kind == Kind::unknown ? Kind::not_done : kind,
                         .message = failure.message};
    for (const auto& [id, request] : waiting) listener_.on_failure(id, unsent);
    for (const auto& [stream, id] : sent) listener_.on_failure(id, failure);
    listener_.on_leaving(*this);
}

void Http2Connection::close() {
    state_ = State::closed;
    loop_.unschedule(*this);
    timer_.cancel();
    unwatch();
    lookup_.reset();
    if (transport_) transport_->close();
    waiting_.clear();
    sent_.clear();
}

}  // namespace holdfast::etcd
