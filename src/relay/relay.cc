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
    Link(Relay& relay, PerLoop& here, net::Channel& channel, Passage passage)
        : relay_(relay),
          here_(here),
          channel_(channel),
          passage_(std::move(passage)),
          target_(passage_.target),
          timer_(here.loop, [this] { fail("it did not answer in time"); }) {
        here_.open.insert(this);
        timer_.call_at(net::EventLoop::Clock::now() + relay_.options_.connect_timeout);
    }
    ~Link() override { here_.open.erase(this); }

    // Closes, unless it goes to this leader.
    void leave_unless(const std::shared_ptr<Target>& current) {
        if (target_ == current) return;
        failure_.was_heard = true;
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
        if (failure_.reason.empty()) failure_.reason = "the connection to it failed";
        relay_.fail(here_, std::move(passage_), failure_);
    }
    bool idle() const override { return !splice_; }

  private:
    enum class State : std::uint8_t { awaits_challenge, awaits_answer, joined, failed };

    std::size_t take_challenge(std::string_view input) {
        auto found = read_challenge(input);
        if (found.state == Found<std::string>::State::broken) return fail("it is no Holdfast"), 0;
        if (found.size == 0) return 0;
        failure_.was_heard = true;
        challenge_ = std::move(found.value);
        nonce_ = random_bytes(nonce_bytes);
        const auto& arrival = passage_.arrival;
        const Preface preface{.door = passage_.door,
                              .client = arrival ? arrival->transport().peer_address() : "",
                              .node = relay_.options_.node,
                              .epoch = target_->leader.epoch,
                              .nonce = nonce_};
        append_preface(channel_.output(), preface, challenge_, target_->leader.secret);
        state_ = State::awaits_answer;
        return found.size;
    }

    std::size_t take_answer(std::string_view input) {
        const auto found = read_answer(input);
        if (found.state == Found<Answer>::State::broken) return fail("it is no Holdfast"), 0;
        if (found.size == 0) return 0;
        // The last questions of the leader: who asks, and in which epoch, was right before them.
        const Verdict verdict = found.value.verdict;
        failure_.is_leader_well = verdict == Verdict::no_such_door || verdict == Verdict::too_many;
        if (found.value.verdict != Verdict::accepted) {
            fail(to_text(found.value.verdict));
        } else if (!is_accepted(found.value, nonce_, challenge_, target_->leader.secret)) {
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
        relay_.set_trouble(target_, "");
        const std::size_t count = target_->leader.peers.size();
        target_->reached.store((passage_.first + passage_.tried) % count,
                               std::memory_order_relaxed);
        auto client = passage_.arrival->take_transport();
        here_.clients.connections.add(std::move(client), [this](net::Channel& raw) {
            return Splice::make_raw_side(splice_, raw,
                                         std::exchange(passage_.arrival, std::nullopt));
        });
    }

    void fail(std::string_view reason) {
        if (!splice_) state_ = State::failed;
        if (failure_.reason.empty()) failure_.reason = reason;
        channel_.cut();
    }

    Relay& relay_;
    PerLoop& here_;
    net::Channel& channel_;
    Passage passage_;  // until joined
    const std::shared_ptr<Target> target_;
    net::LoopTimer timer_;
    State state_ = State::awaits_challenge;
    std::string challenge_;
    std::string nonce_;
    Failure failure_;                 // why it fails
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
    auto to = target();
    if (!to) return false;
    PerLoop* here = nullptr;
    for (const auto& each : loops_) {
        if (&each->loop == &arrival.loop()) here = each.get();
    }
    CHECK(here);
    const std::size_t first = to->reached.load(std::memory_order_relaxed);
    call(*here, {.door = door, .arrival = std::move(arrival), .target = to, .first = first});
    return true;
}

// Connects to the next address of the leader.
void Relay::call(PerLoop& here, Passage passage) {
    const Leader& leader = passage.target->leader;
    auto transport =
        net::begin_connect(leader.peers[(passage.first + passage.tried) % leader.peers.size()]);
    if (!transport) {
        return fail(here, std::move(passage), {.reason = transport.error().message});
    }
    if (options_.trust) transport->encrypt(*options_.trust(), leader.host);
    here.links.connections.add(std::move(*transport), [&](net::Channel& channel) {
        return std::make_unique<Link>(*this, here, channel, std::move(passage));
    });
}

// Tries the next address, or gives the connection back.
void Relay::fail(PerLoop& here, Passage passage, const Failure& failure) {
    if (is_ending_) return;
    const std::size_t count = passage.target->leader.peers.size();
    if (!failure.was_heard && ++passage.tried < count) return call(here, std::move(passage));
    set_trouble(passage.target, failure.is_leader_well ? "" : failure.reason);
    if (!passage.arrival) return is_looking_.store(false);
    given_back_.fetch_add(1, std::memory_order_relaxed);
    if (options_.on_failure) options_.on_failure(failure.reason);
    std::move(*passage.arrival).serve();
}

std::shared_ptr<Relay::Target> Relay::target() const {
    const std::lock_guard guard(mutex_);
    return target_;
}

void Relay::follow(std::optional<Leader> leader) {
    std::shared_ptr<Target> fresh;
    if (leader) {
        CHECK(!leader->peers.empty());
        fresh = std::make_shared<Target>(std::move(*leader));
    }
    {
        const std::lock_guard guard(mutex_);
        if (fresh && target_ && fresh->leader == target_->leader) return;
        target_ = fresh;
        trouble_.clear();
    }
    close_all_but(fresh);
}

// What a connection to an earlier leader says does not count.
void Relay::set_trouble(const std::shared_ptr<Target>& target, const std::string& trouble) {
    const std::lock_guard guard(mutex_);
    if (target == target_) trouble_ = trouble;
}

std::string Relay::trouble() const {
    const std::lock_guard guard(mutex_);
    return trouble_;
}

void Relay::look() {
    auto to = target();
    if (!to || is_looking_.exchange(true)) return;
    PerLoop& here = *loops_.front();
    here.loop.post([this, &here, to = std::move(to)] {
        call(here, {.target = to, .first = to->reached.load(std::memory_order_relaxed)});
    });
}

void Relay::close_all() {
    close_all_but(nullptr);
}

// A connection that is being taken at this moment is closed, too: what is posted here comes after it.
void Relay::close_all_but(const std::shared_ptr<Target>& current) {
    for (const auto& each : loops_) {
        each->loop.post([&here = *each, current] {
            for (Link* const link : here.open) link->leave_unless(current);
        });
    }
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
