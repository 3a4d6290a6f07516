#include "relay/peer_server.h"

#include <sys/socket.h>

#include <array>
#include <unordered_set>

#include "base/check.h"
#include "relay/splice_set.h"

namespace holdfast::relay {

namespace {

// A relay reads as fast as its client does. A door closes a connection whose client reads nothing for
// long; this is longer, so that the door decides.
net::ConnectionLimits peer_limits(std::chrono::milliseconds preface_timeout) {
    net::ConnectionLimits limits = splice_limits(std::chrono::minutes(2));
    limits.request_timeout = limits.idle_timeout = preface_timeout;
    return limits;
}

// A door may leave its input unread as long as a request waits for a lock.
constexpr std::chrono::milliseconds inner_write_timeout{0};

}  // namespace

// What the server has on one loop, besides the connections of `server_`.
struct PeerServer::PerLoop {
    explicit PerLoop(net::EventLoop& its_loop)
        : loop(its_loop), inner(its_loop, inner_write_timeout) {}

    net::EventLoop& loop;
    std::unordered_set<Session*> sessions;
    SpliceSet inner;  // the ends of pairs that are not the door's
};

// One connection of another node.
class PeerServer::Session final : public net::Protocol {
  public:
    Session(PeerServer& server, PerLoop& here, net::Channel& channel)
        : server_(server),
          here_(here),
          channel_(channel),
          challenge_(random_bytes(challenge_bytes)) {
        here_.sessions.insert(this);
        append_challenge(channel_.output(), challenge_);
        channel_.flush();
    }
    ~Session() override { here_.sessions.erase(this); }

    // Closes at once, unless it was accepted under this leadership or not at all yet.
    void leave_unless(const std::shared_ptr<const Leadership>& current) {
        if (splice_ && leadership_ != current) splice_->cut();
    }

    std::size_t on_input(std::string_view input) override {
        std::size_t consumed = 0;
        if (state_ == State::awaits_preface) consumed = take_preface(input);
        if (splice_) consumed += splice_->on_framed_input(input.substr(consumed));
        return state_ == State::closing ? input.size() : consumed;
    }
    void on_end_of_data() override {
        if (splice_) splice_->on_framed_end_of_data();
    }
    bool on_output_sent() override {
        if (splice_) splice_->on_framed_output_sent();
        return false;
    }
    void on_read_timeout() override {
        if (!splice_) channel_.cut();
    }
    void on_closed() override {
        if (splice_) splice_->on_framed_closed();
    }
    bool idle() const override { return !splice_; }

  private:
    enum class State : std::uint8_t { awaits_preface, closing, joined };

    std::size_t take_preface(std::string_view input) {
        const auto found = read_preface(input);
        if (found.state == Found<SignedPreface>::State::broken) {
            state_ = State::closing;
            channel_.cut();
        }
        if (found.size == 0) return 0;
        leadership_ = server_.leadership();
        const Preface& preface = found.value.preface;
        Verdict verdict = judge(found.value);
        if (verdict == Verdict::accepted) verdict = join(preface);
        if (verdict == Verdict::accepted) {
            state_ = State::joined;
            server_.joined_.fetch_add(1, std::memory_order_relaxed);
            append_accepted(channel_.output(), preface.nonce, challenge_, leadership_->secret);
        } else {
            refuse(verdict, preface);
        }
        return found.size;
    }

    [[nodiscard]] Verdict judge(const SignedPreface& received) const {
        if (!leadership_) return Verdict::not_leading;
        if (!is_authentic(received, challenge_, leadership_->secret)) return Verdict::not_authentic;
        if (received.preface.epoch != leadership_->epoch) return Verdict::other_epoch;
        return door(received.preface.door) ? Verdict::accepted : Verdict::no_such_door;
    }

    [[nodiscard]] net::Server* door(const std::string& name) const {
        for (const auto& [its_name, server] : server_.options_.doors) {
            if (its_name == name) return server;
        }
        return nullptr;
    }

    // Gives the door its end of a pair of sockets, and joins this connection with the other end.
    Verdict join(const Preface& preface) {
        std::array<int, 2> pair{};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.data()) !=
            0) {
            return Verdict::too_many;
        }
        net::Transport inner(pair[0]);
        net::Transport outer(pair[1]);
        auto peer = std::make_shared<net::Peer>();
        peer->address = preface.client;
        peer->node = preface.node;
        auto splice = std::make_shared<Splice>(channel_, server_.traffic_, peer);
        const auto make = [&splice](net::Channel& raw) {
            return Splice::make_raw_side(splice, raw, std::nullopt);
        };
        if (!door(preface.door)->adopt(std::move(outer), peer)) return Verdict::too_many;
        if (!here_.inner.connections.add(std::move(inner), make)) return Verdict::too_many;
        splice_ = std::move(splice);
        return Verdict::accepted;
    }

    void refuse(Verdict verdict, const Preface& preface) {
        state_ = State::closing;
        server_.refused_.fetch_add(1, std::memory_order_relaxed);
        append_answer(channel_.output(), verdict);
        channel_.close_after_flush();
        // A node that only looks whether it would be accepted names no door.
        const bool is_look = verdict == Verdict::no_such_door && preface.door.empty();
        if (is_look || !server_.options_.on_refused) return;
        server_.options_.on_refused({.verdict = verdict,
                                     .node = preface.node,
                                     .client = preface.client,
                                     .door = preface.door});
    }

    PeerServer& server_;
    PerLoop& here_;
    net::Channel& channel_;
    const std::string challenge_;
    State state_ = State::awaits_preface;
    std::shared_ptr<const Leadership> leadership_;  // under which it was judged
    std::shared_ptr<Splice> splice_;                // when joined
};

base::Result<std::unique_ptr<PeerServer>> PeerServer::start(
    const net::Endpoint& endpoint, const std::vector<net::EventLoop*>& loops,
    PeerServerOptions options) {
    std::unique_ptr<PeerServer> made(new PeerServer(loops, std::move(options)));
    PeerServer& self = *made;
    net::ServerOptions server_options;
    server_options.connections_max = self.options_.connections_max;
    server_options.limits = peer_limits(self.options_.preface_timeout);
    server_options.tls = self.options_.tls;
    server_options.on_error = self.options_.on_error;
    const auto factory = [&self](net::Channel& channel, net::EventLoop& loop) {
        return std::make_unique<Session>(self, self.on(loop), channel);
    };
    TRY(made->server_, net::Server::start(endpoint, loops, factory, std::move(server_options)));
    return made;
}

PeerServer::PeerServer(const std::vector<net::EventLoop*>& loops, PeerServerOptions options)
    : options_(std::move(options)) {
    for (net::EventLoop* const loop : loops) loops_.push_back(std::make_unique<PerLoop>(*loop));
}

PeerServer::~PeerServer() = default;

PeerServer::PerLoop& PeerServer::on(const net::EventLoop& loop) {
    for (const auto& each : loops_) {
        if (&each->loop == &loop) return *each;
    }
    CHECK(false);
    return *loops_.front();
}

PeerCounts PeerServer::counts() const {
    PeerCounts counts;
    for (const auto& each : loops_) counts.open += each->inner.connections.size();
    counts.joined = joined_.load(std::memory_order_relaxed);
    counts.refused = refused_.load(std::memory_order_relaxed);
    counts.lost = traffic_.lost.load(std::memory_order_relaxed);
    counts.bytes_to_doors = traffic_.to_raw.load(std::memory_order_relaxed);
    counts.bytes_from_doors = traffic_.to_framed.load(std::memory_order_relaxed);
    return counts;
}

void PeerServer::lead(Leadership leadership) {
    const auto current = this->leadership();
    if (current && *current == leadership) return;
    set_leadership(std::make_shared<const Leadership>(std::move(leadership)));
}

void PeerServer::stop_leading() {
    set_leadership(nullptr);
}

// A connection that is being accepted at this moment is closed, too: what is posted here comes after
// it.
void PeerServer::set_leadership(const std::shared_ptr<const Leadership>& fresh) {
    {
        const std::lock_guard guard(mutex_);
        leadership_ = fresh;
    }
    for (const auto& each : loops_) {
        each->loop.post([&here = *each, fresh] {
            for (Session* const session : here.sessions) session->leave_unless(fresh);
        });
    }
}

std::shared_ptr<const Leadership> PeerServer::leadership() const {
    const std::lock_guard guard(mutex_);
    return leadership_;
}

void PeerServer::shut_down(std::chrono::milliseconds grace, std::function<void()> on_done) {
    server_->shut_down(grace, std::move(on_done));
}

}  // namespace holdfast::relay
