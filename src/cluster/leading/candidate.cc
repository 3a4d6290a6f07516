#include "cluster/leading/candidate.h"

#include <fmt/format.h>

#include <utility>

#include "base/log/log.h"
#include "base/text/hex.h"
#include "base/text/number.h"
#include "cluster/leading/confirmation.h"

namespace holdfast::cluster {

namespace {

using etcd::Compare;
using etcd::Operation;
using Enrolled = tl::expected<void, etcd::Failure>;

tl::unexpected<etcd::Failure> reject(std::string why) {
    return tl::unexpected(
        etcd::Failure{.kind = etcd::Failure::Kind::rejected, .message = std::move(why)});
}

// Why a node cannot join is logged when the reason is another one, but not more often than this.
constexpr core::Duration report_interval = std::chrono::seconds{10};

// Whether this program can work with what the cluster has, and what the secret is.
tl::expected<std::string, etcd::Failure> read_secret(const etcd::TransactionAnswer& answer) {
    const auto& ranges = answer.ranges;
    if (ranges.size() < 2 || ranges[0].found.empty()) return reject("the cluster has no format");
    const std::string& format = ranges[0].found.front().value;
    const auto version = base::parse_decimal<std::uint64_t>(format);
    if (!version || *version > format_version) {
        return reject(fmt::format(
            "the cluster's data have the format {}, and this program knows only format {}: a newer "
            "version of Holdfast is needed on this node",
            format, format_version));
    }
    if (ranges[1].found.empty()) return reject("the cluster has lost its secret");
    return ranges[1].found.front().value;
}

}  // namespace

std::string make_secret(const std::function<std::uint64_t()>& random) {
    std::string secret;
    for (int part = 0; part < 4; ++part) base::append_hex(secret, random());
    return secret;
}

Candidate::Candidate(Node node, LeaseTimes times, Parts parts, Hooks hooks)
    : node_(std::move(node)),
      parts_(std::move(parts)),
      hooks_(std::move(hooks)),
      leadership_(times) {}

Candidate::~Candidate() {
    if (watch_ != 0) parts_.etcd.cancel(watch_);
}

// ---- Inputs ----

template <class Input>
void Candidate::tell(Input input) {
    input(now());
    run();
}

void Candidate::start() {
    tell([&](core::Time now) { leadership_.start(now); });
}
void Candidate::want() {
    tell([&](core::Time now) { leadership_.want(now); });
}
void Candidate::loaded() {
    tell([&](core::Time) { leadership_.loaded(); });
}
void Candidate::confirmed(const Leader& self) {
    self_ = self;
    tell([&](core::Time now) { leadership_.confirmed(now); });
}
void Candidate::fail(const std::string& why) {
    tell([&](core::Time now) { leadership_.fail(now, why); });
}
void Candidate::resign() {
    tell([&](core::Time now) { leadership_.resign(now); });
}
void Candidate::finished() {
    tell([&](core::Time now) { leadership_.finished(now); });
}
void Candidate::retire(const std::string& why) {
    tell([&](core::Time now) { leadership_.retire(now, why); });
}
void Candidate::retired() {
    tell([&](core::Time now) { leadership_.retired(now); });
}
void Candidate::stop() {
    tell([&](core::Time now) { leadership_.stop(now); });
}
void Candidate::look_at_time() {
    tell([&](core::Time now) { leadership_.advance(now); });
}

// Carries out what Leadership has ordered. An order may lead to further ones.
void Candidate::run() {
    hooks_.authority(leadership_.authority());
    if (is_running_) return;
    is_running_ = true;
    for (auto orders = leadership_.take_orders(); !orders.empty();
         orders = leadership_.take_orders()) {
        for (const Order& order : orders) carry_out(order);
    }
    is_running_ = false;
    if (const auto next = leadership_.next_deadline()) {
        parts_.slots.set(TimerSlots::Slot::leadership, *next, [this] { look_at_time(); });
    } else {
        parts_.slots.clear(TimerSlots::Slot::leadership);
    }
    report_trouble();
    hooks_.changed();
}

// A node that cannot join may pass connections on as if all were well, but could not take over.
void Candidate::report_trouble() {
    const std::string trouble = why_not_joined();
    if (trouble.empty()) return reported_trouble_.clear();
    if (trouble == reported_trouble_ || now() < report_from_) return;
    reported_trouble_ = trouble;
    report_from_ = now() + report_interval;
    base::log(base::LogLevel::warning, "this node cannot join the cluster yet; trying again",
              {{"why", trouble}});
}

// Makes a callback that tells Leadership the answer to a request, and carries out what follows.
#define HOLDFAST_ON_ANSWER(function)                                                        \
    [this, ticket = order.ticket, alive = std::weak_ptr<int>(alive_)](const auto& answer) { \
        if (alive.expired()) return;                                                        \
        tell([&](core::Time now) { leadership_.function(now, ticket, answer); });           \
    }

void Candidate::carry_out(const Order& order) {
    etcd::Api& etcd = parts_.etcd;
    switch (order.kind) {
        case Order::Kind::read: return read(order);
        case Order::Kind::grant:
            return etcd.grant(0, leadership_.ttl(), order.timeout, HOLDFAST_ON_ANSWER(on_granted));
        case Order::Kind::enrol: return enrol(order);
        case Order::Kind::campaign: return campaign(order);
        case Order::Kind::look: return look(order);
        case Order::Kind::confirm: return confirm(order);
        case Order::Kind::keep_alive:
            return etcd.keep_alive(order.lease, order.timeout, HOLDFAST_ON_ANSWER(on_kept_alive));
        case Order::Kind::revoke:
            return etcd.revoke(
                order.lease, order.timeout,
                [this, ticket = order.ticket,
                 alive = std::weak_ptr<int>(alive_)](const auto& /*answer*/) {
                    if (alive.expired()) return;
                    tell([&](core::Time now) { leadership_.on_revoked(now, ticket); });
                });
        case Order::Kind::watch: return watch(order);
        case Order::Kind::stop_watching: return etcd.cancel(std::exchange(watch_, 0));
        case Order::Kind::load: return hooks_.load(order.revision);
        case Order::Kind::step_down:
            self_ = {};
            base::log(base::LogLevel::warning, "this node leads no more", {{"why", order.why}});
            return hooks_.step_down(order.why);
        case Order::Kind::finish: return hooks_.finish();
        case Order::Kind::stopped: return hooks_.stopped();
        case Order::Kind::refuse: return hooks_.refuse(order.why);
    }
}

// ---- Requests ----

void Candidate::read(const Order& order) {
    const Keys& keys = parts_.keys;
    const auto transaction = std::make_shared<etcd::Transaction>();
    transaction->then = {Operation::range(keys.format()), Operation::range(keys.secret()),
                         Operation::range(keys.leader())};
    parts_.etcd.transact(
        transaction, order.timeout,
        [this, ticket = order.ticket,
         alive = std::weak_ptr<int>(alive_)](const etcd::Answer<etcd::TransactionAnswer>& answer) {
            if (alive.expired()) return;
            const auto leader = take_cluster(answer);
            tell([&](core::Time now) { leadership_.on_read(now, ticket, leader); });
        });
}

// Keeps the secret, and returns the key of the leader.
etcd::Answer<std::optional<etcd::KeyValue>> Candidate::take_cluster(
    const etcd::Answer<etcd::TransactionAnswer>& answer) {
    if (!answer) return tl::unexpected(answer.error());
    const auto& ranges = answer->ranges;
    const bool is_new = !ranges.empty() && ranges.front().found.empty();
    if (is_new) return std::nullopt;
    auto secret = read_secret(*answer);
    if (!secret) return tl::unexpected(std::move(secret).error());
    secret_ = std::move(*secret);
    if (ranges.size() < 3 || ranges[2].found.empty()) return std::nullopt;
    return ranges[2].found.front();
}

void Candidate::enrol(const Order& order) {
    const Keys& keys = parts_.keys;
    std::string secret = make_secret(parts_.random);
    const auto transaction = std::make_shared<etcd::Transaction>();
    transaction->conditions = {
        {.target = Compare::Target::create_revision, .key = keys.format(), .number = 0}};
    transaction->then = {Operation::put(keys.format(), std::to_string(format_version)),
                         Operation::put(keys.secret(), secret),
                         Operation::put(keys.counter(), to_text(Counter{})),
                         Operation::put(keys.epoch(), "0")};
    transaction->otherwise = {Operation::range(keys.format()), Operation::range(keys.secret())};
    parts_.etcd.transact(
        transaction, order.timeout,
        [this, order, secret = std::move(secret),
         alive = std::weak_ptr<int>(alive_)](const etcd::Answer<etcd::TransactionAnswer>& answer) {
            if (alive.expired()) return;
            Enrolled done;
            if (!answer) {
                done = tl::unexpected(answer.error());
            } else if (answer->is_true) {
                secret_ = secret;
            } else if (const auto read = read_secret(*answer)) {
                secret_ = *read;
            } else {
                done = tl::unexpected(read.error());
            }
            if (done) return enrol_node(order);
            tell([&](core::Time now) { leadership_.on_enrolled(now, order.ticket, done); });
        });
}

// Writes the node's own key, if its name is free.
void Candidate::enrol_node(const Order& order) {
    const std::string key = parts_.keys.node(node_.name);
    put_node(order, {.target = Compare::Target::create_revision, .key = key, .number = 0});
}

void Candidate::put_node(const Order& order, etcd::Compare condition) {
    const std::string key = parts_.keys.node(node_.name);
    etcd::Transaction nested;
    nested.then = {Operation::put(key, to_text(node_), order.lease)};
    const auto transaction = std::make_shared<etcd::Transaction>();
    transaction->conditions = {std::move(condition)};
    transaction->then = {Operation::transaction(std::move(nested))};
    transaction->otherwise = {Operation::range(key)};
    parts_.etcd.transact(
        transaction, order.timeout,
        [this, order,
         alive = std::weak_ptr<int>(alive_)](const etcd::Answer<etcd::TransactionAnswer>& answer) {
            if (alive.expired()) return;
            if (answer && !answer->is_true) return settle_name(order, *answer);
            Enrolled done;
            if (!answer) done = tl::unexpected(answer.error());
            if (!done && done.error().kind == etcd::Failure::Kind::rejected) {
                done.error().message =
                    "etcd does not let this node join. Holdfast needs a real etcd, 3.4 or later, "
                    "that does nested transactions, and the right to write below " +
                    parts_.keys.prefix() + ": " + done.error().message;
            }
            tell([&](core::Time now) { leadership_.on_enrolled(now, order.ticket, done); });
        });
}

// The key is there. It is this node's own if it has the same address: from before a restart, of which
// etcd has not heard, or from a request whose answer was lost. Otherwise two nodes have one name.
void Candidate::settle_name(const Order& order, const etcd::TransactionAnswer& answer) {
    if (!answer.ranges.empty() && !answer.ranges[0].found.empty()) {
        const etcd::KeyValue& found = answer.ranges[0].found[0];
        const auto other = parse_node(found.value);
        if (other && other->peer != node_.peer && found.lease != order.lease) {
            const Enrolled refused = tl::unexpected(etcd::Failure{
                .kind = etcd::Failure::Kind::not_done,
                .message = "another node is called " + node_.name + ", at " + other->peer +
                           ": give each a name of its own with --node"});
            return tell(
                [&](core::Time now) { leadership_.on_enrolled(now, order.ticket, refused); });
        }
        return put_node(order, {.target = Compare::Target::mod_revision,
                                .key = found.key,
                                .number = found.mod_revision});
    }
    enrol_node(order);  // it has gone meanwhile
}

void Candidate::campaign(const Order& order) {
    const std::string key = parts_.keys.leader();
    // The epoch comes with the first commit: until then nobody is served.
    const Leader self{.name = node_.name, .peer = node_.peer};
    const auto transaction = std::make_shared<etcd::Transaction>();
    transaction->conditions = {
        {.target = Compare::Target::create_revision, .key = key, .number = 0}};
    const Operation read_secret = Operation::range(parts_.keys.secret());
    transaction->then = {Operation::put(key, to_text(self), order.lease), read_secret};
    transaction->otherwise = {Operation::range(key), read_secret};
    parts_.etcd.transact(
        transaction, order.timeout,
        [this, ticket = order.ticket,
         alive = std::weak_ptr<int>(alive_)](const etcd::Answer<etcd::TransactionAnswer>& answer) {
            if (alive.expired()) return;
            if (answer) take_secret(ticket, *answer);
            tell([&](core::Time now) { leadership_.on_campaigned(now, ticket, answer); });
        });
}

// Both at one revision, so that a node never has a new leader and an old secret for long.
void Candidate::look(const Order& order) {
    const auto transaction = std::make_shared<etcd::Transaction>();
    transaction->then = {Operation::range(parts_.keys.leader()),
                         Operation::range(parts_.keys.secret())};
    parts_.etcd.transact(
        transaction, order.timeout,
        [this, ticket = order.ticket,
         alive = std::weak_ptr<int>(alive_)](const etcd::Answer<etcd::TransactionAnswer>& answer) {
            if (alive.expired()) return;
            etcd::Answer<etcd::RangeAnswer> leader;
            if (!answer) {
                leader = tl::unexpected(answer.error());
            } else if (!answer->ranges.empty()) {
                leader = answer->ranges.front();
                leader->revision = answer->revision;
                take_secret(ticket, *answer);
            }
            tell([&](core::Time now) { leadership_.on_looked(now, ticket, leader); });
        });
}

// A new epoch has a new secret. A node that runs reads it with whatever it asks about the leader; it is the
// last range. The answer to an older question may be older than what the node has.
void Candidate::take_secret(Ticket ticket, const etcd::TransactionAnswer& answer) {
    if (!leadership_.awaits(ticket) || answer.ranges.empty()) return;
    const auto& found = answer.ranges.back().found;
    if (!found.empty() && found.front().key == parts_.keys.secret()) secret_ = found.front().value;
}

void Candidate::confirm(const Order& order) {
    const Election election{
        .elected_at = order.revision, .lease = order.lease, .epoch = self_.epoch};
    parts_.etcd.transact(
        plan_confirmation(parts_.keys, election), order.timeout,
        [this, ticket = order.ticket, election,
         alive = std::weak_ptr<int>(alive_)](const etcd::Answer<etcd::TransactionAnswer>& answer) {
            if (alive.expired()) return;
            const auto confirmation = judge_confirmation(election, answer);
            tell([&](core::Time now) { leadership_.on_confirmed(now, ticket, confirmation); });
        });
}

void Candidate::watch(const Order& order) {
    const auto on_events = [this, ticket = order.ticket](etcd::Revision /*revision*/,
                                                         const auto& events) {
        tell([&](core::Time now) { leadership_.on_watched(now, ticket, events); });
    };
    const auto on_end = [this, ticket = order.ticket](const etcd::Failure& /*why*/) {
        watch_ = 0;
        tell([&](core::Time now) { leadership_.on_watch_ended(now, ticket); });
    };
    watch_ = parts_.etcd.watch(parts_.keys.leader(), {}, order.revision, on_events, on_end);
}

#undef HOLDFAST_ON_ANSWER

// ---- What it knows ----

bool Candidate::has_lead() const {
    return state() == Leadership::State::leading || state() == Leadership::State::resigning;
}

Leader Candidate::leader() const {
    if (has_lead()) return self_;
    if (!leadership_.leader()) return {};
    Leader leader = parse_leader(leadership_.leader()->value).value_or(Leader{});
    // Its own key, with a lease that it has lost: nobody serves until etcd has ended that lease.
    if (leader.peer == node_.peer) return {};
    return leader;
}

std::string Candidate::why_not_joined() const {
    const bool is_joining =
        state() == Leadership::State::joining || state() == Leadership::State::enrolling;
    return is_joining ? leadership_.trouble() : "";
}

std::string Candidate::why_nobody_leads() const {
    using State = Leadership::State;
    if (has_lead()) return {};
    const std::string& trouble = leadership_.trouble();
    switch (state()) {
        case State::loading:
        case State::confirming: return "this node is taking over, and reads the locks";
        case State::stopped:
            return trouble.empty() ? "this node has stopped" : "this node cannot join: " + trouble;
        default: break;
    }
    const Leader known = leader();
    if (!known.name.empty()) {
        return known.epoch != 0 ? "" : "node " + known.name + " is taking over";
    }
    if (!trouble.empty()) return "nobody leads: " + trouble;
    return "nobody leads: the nodes elect a leader";
}

}  // namespace holdfast::cluster
