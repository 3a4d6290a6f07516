#include "relay/relay.h"

#include <fmt/format.h>

#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "net/sockets/transport.h"
#include "relay/preface.h"
#include "relay/splice_set.h"

namespace holdfast::relay {

namespace {

// The leader may leave its input unread as long as a request waits for a lock, which is for ever if
// need be. If the leader has died, another one is followed soon.
constexpr std::chrono::milliseconds link_write_timeout{0};
// The leader's door decides when a client that does not read is too slow. This is the last resort.
constexpr std::chrono::milliseconds client_write_timeout = std::chrono::minutes(2);

}  // namespace

// What the relay has on one loop.
struct Relay::PerLoop {
    explicit PerLoop(net::EventLoop& its_loop)
        : loop(its_loop),
          clients(its_loop, client_write_timeout),
          links(its_loop, link_write_timeout) {}

    net::EventLoop& loop;
    std::unordered_set<Link*> open;
    SpliceSet clients;
    SpliceSet links;
};

// One connection to the leader, for one client.
class Relay::Link final : public net::Protocol {
  public:
    Link(Relay& relay, PerLoop& here, net::Channel& channel, net::Arrival arrival,
         std::shared_ptr<const Leader> leader, std::string door)
        : relay_(relay),
          here_(here),
          channel_(channel),
          arrival_(std::move(arrival)),
          leader_(std::move(leader)),
          door_(std::move(door)),
          timer_(here.loop, [this] { fail("it did not answer in time"); }) {
        here_.open.insert(this);
        timer_.call_at(net::EventLoop::Clock::now() + relay_.options_.connect_timeout);
    }
    ~Link() override { here_.open.erase(this); }

    // Closes, unless it goes to this leader.
    void leave_unless(const std::shared_ptr<const Leader>& current) {
        if (leader_ == current) return;
        fail("this node follows another leader now");
    }

    std::size_t on_input(std::string_view input) override {
        std::size_t consumed = 0;
        if (state_ == State::awaits_challenge) consumed += take_challenge(input);
        if (state_ == State::awaits_answer) consumed += take_answer(input.substr(consumed));
        if (splice_) consumed += splice_->on_framed_input(input.substr(consumed));
        return state_ == State::failed ? input.size() : consumed;
    }
    void on_end_of_data() override {
        if (splice_) splice_->on_framed_end_of_data();
    }
    bool on_output_sent() override {
        if (splice_) splice_->on_framed_output_sent();
        return false;
    }
    void on_read_timeout() override {}
    void on_closed() override {
        if (splice_) return splice_->on_framed_closed();
        if (reason_.empty()) reason_ = "the connection to it failed";
        relay_.give_back(std::move(*arrival_), reason_);
        arrival_.reset();
    }
    bool idle() const override { return !splice_; }

  private:
    enum class State : std::uint8_t { awaits_challenge, awaits_answer, joined, failed };

    std::size_t take_challenge(std::string_view input) {
        auto found = read_challenge(input);
        if (found.state == Found<std::string>::State::broken) return fail("it is no Holdfast"), 0;
        if (found.size == 0) return 0;
        challenge_ = std::move(found.value);
        nonce_ = random_bytes(nonce_bytes);
        const Preface preface{.door = door_,
                              .client = arrival_->transport().peer_address(),
                              .node = relay_.options_.node,
                              .epoch = leader_->epoch,
                              .nonce = nonce_};
        append_preface(channel_.output(), preface, challenge_, leader_->secret);
        state_ = State::awaits_answer;
        return found.size;
    }

    std::size_t take_answer(std::string_view input) {
        const auto found = read_answer(input);
        if (found.state == Found<Answer>::State::broken) return fail("it is no Holdfast"), 0;
        if (found.size == 0) return 0;
        if (found.value.verdict != Verdict::accepted) {
            fail(to_text(found.value.verdict));
        } else if (!is_accepted(found.value, nonce_, challenge_, leader_->secret)) {
            fail("it does not know the secret of the cluster");
        } else {
            join();
        }
        return found.size;
    }

    void join() {
        state_ = State::joined;
        timer_.cancel();
        splice_ = std::make_shared<Splice>(channel_, relay_.traffic_, nullptr);
        relay_.joined_.fetch_add(1, std::memory_order_relaxed);
        auto client = arrival_->take_transport();
        here_.clients.connections.add(std::move(client), [this](net::Channel& raw) {
            return Splice::make_raw_side(splice_, raw, std::exchange(arrival_, std::nullopt));
        });
    }

    void fail(std::string_view reason) {
        if (!splice_) state_ = State::failed;
        if (reason_.empty()) reason_ = reason;
        channel_.cut();
    }

    Relay& relay_;
    PerLoop& here_;
    net::Channel& channel_;
    std::optional<net::Arrival> arrival_;  // until joined
    const std::shared_ptr<const Leader> leader_;
    const std::string door_;
    net::LoopTimer timer_;
    State state_ = State::awaits_challenge;
    std::string challenge_;
    std::string nonce_;
    std::string reason_;              // why it fails
    std::shared_ptr<Splice> splice_;  // when joined
};

Relay::Relay(const std::vector<net::EventLoop*>& loops, RelayOptions options)
    : options_(std::move(options)) {
    for (net::EventLoop* const loop : loops) loops_.push_back(std::make_unique<PerLoop>(*loop));
}

Relay::~Relay() {
    is_ending_ = true;
    loops_.clear();
}

net::Divert Relay::divert(std::string door) {
    return [this, door = std::move(door)](net::Arrival& arrival) { return take(door, arrival); };
}

bool Relay::take(const std::string& door, net::Arrival& arrival) {
    const auto target = leader();
    if (!target) return false;
    PerLoop* here = nullptr;
    for (const auto& each : loops_) {
        if (&each->loop == &arrival.loop()) here = each.get();
    }
    CHECK(here);
    auto transport = net::begin_connect(target->peer);
    if (!transport) return give_back(std::move(arrival), transport.error().message), true;
    if (options_.trust) transport->encrypt(*options_.trust, target->host);
    here->links.connections.add(std::move(*transport), [&](net::Channel& channel) {
        return std::make_unique<Link>(*this, *here, channel, std::move(arrival), target, door);
    });
    return true;
}

std::shared_ptr<const Leader> Relay::leader() const {
    const std::lock_guard guard(mutex_);
    return leader_;
}

void Relay::follow(std::optional<Leader> leader) {
    auto fresh = leader ? std::make_shared<const Leader>(std::move(*leader)) : nullptr;
    {
        const std::lock_guard guard(mutex_);
        if (fresh && leader_ && *fresh == *leader_) return;
        leader_ = fresh;
    }
    close_all_but(fresh);
}

void Relay::close_all() {
    close_all_but(nullptr);
}

// A connection that is being taken at this moment is closed, too: what is posted here comes after it.
void Relay::close_all_but(const std::shared_ptr<const Leader>& current) {
    for (const auto& each : loops_) {
        each->loop.post([&here = *each, current] {
            for (Link* const link : here.open) link->leave_unless(current);
        });
    }
}

void Relay::give_back(net::Arrival arrival, const std::string& reason) {
    if (is_ending_) return;
    given_back_.fetch_add(1, std::memory_order_relaxed);
    if (options_.on_failure) options_.on_failure(reason);
    std::move(arrival).serve();
}

RelayCounts Relay::counts() const {
    RelayCounts counts;
    for (const auto& each : loops_) counts.open += each->clients.connections.size();
    counts.joined = joined_.load(std::memory_order_relaxed);
    counts.given_back = given_back_.load(std::memory_order_relaxed);
    counts.lost = traffic_.lost.load(std::memory_order_relaxed);
    counts.bytes_to_leader = traffic_.to_framed.load(std::memory_order_relaxed);
    counts.bytes_to_clients = traffic_.to_raw.load(std::memory_order_relaxed);
    return counts;
}

}  // namespace holdfast::relay
