#include "sim/etcd/simulated_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace holdfast::sim {

using namespace std::chrono_literals;
using etcd::Failure;

namespace {

// How long a node tries a member that is down, or that it cannot reach, before it is refused.
constexpr core::Duration refusal_max = 5ms;

}  // namespace

// Someone waits for this answer, until it is given once.
template <class T>
struct SimulatedApi::Question {
    Way way;
    Run<T> run;
    etcd::OnAnswer<T> done;
    std::size_t member;
    bool is_refused = false;  // etcd has said that it is not done: then it is never done later

    // On the node.
    void give(const ChannelPointer& channel, etcd::Answer<T> answer) {
        if (!done) return;
        const bool is_bad = !answer && (answer.error().kind == Failure::Kind::unknown ||
                                        answer.error().kind == Failure::Kind::not_done);
        if (is_bad) channel->api->to_next_member(member);
        std::exchange(done, nullptr)(std::move(answer));
    }
};

// The way of a question to its member, and of the answer back.
template <class T>
class SimulatedApi::Errand {
  public:
    Errand(ChannelPointer channel, std::shared_ptr<Question<T>> question)
        : channel_(std::move(channel)), question_(std::move(question)) {}

    void begin(Duration timeout) const {
        const Parts& parts = channel_->parts;
        parts.world.after(timeout, [*this] { fail(Failure::Kind::unknown, "no answer in time"); });
        const auto& random = [&parts]() -> Random& { return parts.world.random(); };
        if (random().chance(parts.faults.loss)) return;
        core::Duration delay = draw_delay(parts, question_->way);
        if (random().chance(parts.faults.late)) {
            delay += random().between(core::Duration::zero(), parts.faults.late_max);
        }
        parts.world.after(delay, [*this] { arrive(); });
        if (!random().chance(parts.faults.repetition)) return;
        const core::Duration again =
            random().between(core::Duration::zero(), parts.faults.late_max);
        parts.world.after(delay + again, [*this] { arrive(); });
    }

  private:
    void arrive() const {
        const Parts& parts = channel_->parts;
        const std::size_t member = question_->member;
        if (parts.line.is_cut[member] || !parts.etcd.is_up(member)) {
            const bool is_told = parts.world.random().chance(0.5);
            if (!is_told) return;
            parts.world.after(parts.world.random().between(1us, refusal_max),
                              [*this] { fail(Failure::Kind::not_done, "connection refused"); });
            return;
        }
        const bool is_stale = question_->way == Way::read && parts.faults.has_stale_reads &&
                              parts.world.random().chance(0.5);
        if (is_stale || question_->way == Way::local) return read();
        if (question_->way == Way::read && parts.etcd.can_agree(member)) {
            return parts.etcd.when_applied(member, [*this] { read(); });
        }
        parts.etcd.admit(member, [*this, member] {
            SimulatedEtcd& etcd = channel_->parts.etcd;
            if (question_->way == Way::read) return etcd.when_applied(member, [*this] { read(); });
            if (question_->is_refused) return;
            auto answer = question_->run(etcd, member);
            if (!answer) return;
            question_->is_refused = !answer->has_value();
            etcd.when_applied(member, [*this, answer = std::move(*answer)] { send_back(answer); });
        });
    }

    void read() const {
        if (auto answer = question_->run(channel_->parts.etcd, question_->member)) {
            send_back(*answer);
        }
    }

    void send_back(const etcd::Answer<T>& answer) const {
        const Parts& parts = channel_->parts;
        if (parts.world.random().chance(parts.faults.loss)) return;
        parts.world.after(draw_delay(parts, question_->way), [*this, answer] {
            if (channel_->parts.line.is_cut[question_->member]) return;
            in_turn(channel_, [question = question_, channel = channel_, answer](SimulatedApi&) {
                question->give(channel, answer);
            });
        });
    }

    void fail(Failure::Kind kind, const char* why) const {
        in_turn(channel_, [question = question_, channel = channel_, kind, why](SimulatedApi&) {
            question->give(
                channel, tl::unexpected(Failure{
                             .kind = kind,
                             .message = fmt::format("etcd member {}: {}", question->member, why)}));
        });
    }

    ChannelPointer channel_;
    std::shared_ptr<Question<T>> question_;
};

SimulatedApi::SimulatedApi(Parts parts)
    : channel_(std::make_shared<Channel>(Channel{.parts = parts, .api = this})),
      member_(parts.world.random().below(SimulatedEtcd::member_count)) {}

SimulatedApi::~SimulatedApi() {
    channel_->api = nullptr;
    for (const auto& [id, watching] : watches_) {
        if (watching.at_etcd != 0) channel_->parts.etcd.unwatch(watching.at_etcd);
    }
}

// Unless the node dies before.
void SimulatedApi::in_turn(const ChannelPointer& channel, std::function<void(SimulatedApi&)> task) {
    if (channel->api == nullptr) return;
    channel->parts.in_turn([channel, task = std::move(task)] {
        if (channel->api != nullptr) task(*channel->api);
    });
}

// A node that takes over reads hundreds of ranges: if many of them were late, nobody would ever lead.
core::Duration SimulatedApi::draw_delay(const Parts& parts, Way way) {
    Random& random = parts.world.random();
    const core::Duration usual = random.between(100us, 2ms);
    if (!random.chance(way == Way::read ? 0.002 : 0.2)) return usual;
    return usual + random.between(core::Duration::zero(), parts.faults.delay_max);
}

void SimulatedApi::to_next_member(std::size_t failed) {
    if (member_ == failed) member_ = (member_ + 1) % SimulatedEtcd::member_count;
}

template <class T>
void SimulatedApi::ask(Way way, Run<T> run, Duration timeout, etcd::OnAnswer<T> done) {
    if (channel_->parts.world.random().chance(channel_->parts.faults.wandering)) {
        to_next_member(member_);
    }
    auto question = std::make_shared<Question<T>>(
        Question<T>{.way = way, .run = std::move(run), .done = std::move(done), .member = member_});
    Errand<T>(channel_, std::move(question)).begin(timeout);
}

namespace {

bool only_reads(const etcd::Transaction& transaction) {
    return transaction.conditions.empty() &&
           std::ranges::all_of(transaction.then, [](const etcd::Operation& one) {
               return one.kind == etcd::Operation::Kind::range;
           });
}

etcd::Answer<etcd::TransactionAnswer> read_all(const SimulatedEtcd& etcd, std::size_t member,
                                               const etcd::Transaction& transaction) {
    etcd::TransactionAnswer all{.is_true = true};
    for (const etcd::Operation& one : transaction.then) {
        auto read = etcd.range(member, {.key = one.key, .range_end = one.range_end});
        if (!read) return tl::unexpected(read.error());
        all.revision = read->revision;
        all.ranges.push_back(std::move(*read));
    }
    return all;
}

}  // namespace

// One that only reads is a read: a member answers it from what it knows.
void SimulatedApi::transact(std::shared_ptr<const etcd::Transaction> transaction, Duration timeout,
                            etcd::OnAnswer<etcd::TransactionAnswer> done) {
    if (only_reads(*transaction)) {
        return ask<etcd::TransactionAnswer>(
            Way::read,
            [transaction = std::move(transaction)](SimulatedEtcd& etcd, std::size_t member) {
                return std::optional(read_all(etcd, member, *transaction));
            },
            timeout, std::move(done));
    }
    ask<etcd::TransactionAnswer>(
        Way::agreed,
        [transaction = std::move(transaction)](SimulatedEtcd& etcd, std::size_t) {
            return std::optional(etcd.transact(*transaction));
        },
        timeout, std::move(done));
}

void SimulatedApi::grant(etcd::LeaseId id, std::chrono::seconds ttl, Duration timeout,
                         etcd::OnAnswer<etcd::LeaseAnswer> done) {
    ask<etcd::LeaseAnswer>(
        Way::agreed,
        [id, ttl](SimulatedEtcd& etcd, std::size_t) { return std::optional(etcd.grant(id, ttl)); },
        timeout, std::move(done));
}

void SimulatedApi::keep_alive(etcd::LeaseId id, Duration timeout,
                              etcd::OnAnswer<etcd::LeaseAnswer> done) {
    ask<etcd::LeaseAnswer>(
        Way::agreed, [id](SimulatedEtcd& etcd, std::size_t) { return etcd.keep_alive(id); },
        timeout, std::move(done));
}

void SimulatedApi::revoke(etcd::LeaseId id, Duration timeout,
                          etcd::OnAnswer<etcd::LeaseAnswer> done) {
    ask<etcd::LeaseAnswer>(
        Way::agreed,
        [id](SimulatedEtcd& etcd, std::size_t) { return std::optional(etcd.revoke(id)); }, timeout,
        std::move(done));
}

void SimulatedApi::compact(etcd::Revision revision, Duration timeout,
                           etcd::OnAnswer<etcd::Revision> done) {
    ask<etcd::Revision>(
        Way::agreed,
        [revision](SimulatedEtcd& etcd, std::size_t) {
            return std::optional(etcd.compact(revision));
        },
        timeout, std::move(done));
}

void SimulatedApi::status(Duration timeout, etcd::OnAnswer<etcd::StatusAnswer> done) {
    ask<etcd::StatusAnswer>(
        Way::local,
        [](SimulatedEtcd& etcd, std::size_t member) { return std::optional(etcd.status(member)); },
        timeout, std::move(done));
}

SimulatedApi::WatchId SimulatedApi::watch(std::string key, std::string range_end,
                                          etcd::Revision start, OnEvents on_events, OnEnd on_end) {
    const WatchId watch = ++last_watch_;
    watches_[watch] = {.on_events = std::move(on_events),
                       .on_end = std::move(on_end),
                       .member = member_,
                       .last_arrival = channel_->parts.world.now()};
    const auto to_node = [channel = channel_](auto task) {
        if (channel->api != nullptr) task(*channel->api);
    };
    SimulatedEtcd::Watcher watcher{
        .member = member_,
        .key = std::move(key),
        .range_end = std::move(range_end),
        .next = start,
        .on_events =
            [to_node, watch](etcd::Revision revision, std::vector<etcd::WatchEvent> events) {
                to_node([&](SimulatedApi& api) {
                    api.tell_events(watch, revision, std::move(events));
                });
            },
        .on_end =
            [to_node, watch](Failure failure) {
                to_node([&](SimulatedApi& api) { api.tell_end(watch, std::move(failure)); });
            }};
    channel_->parts.world.after(
        draw_delay(channel_->parts, Way::local),
        [to_node, watch, watcher = std::move(watcher)]() mutable {
            to_node([&](SimulatedApi& api) { api.begin_watch(watch, std::move(watcher)); });
        });
    return watch;
}

// At the member.
void SimulatedApi::begin_watch(WatchId watch, SimulatedEtcd::Watcher watcher) {
    if (!watches_.contains(watch)) return;
    const Parts& parts = channel_->parts;
    const std::size_t member = watcher.member;
    const bool is_lost = parts.world.random().chance(parts.faults.loss);
    if (is_lost || parts.line.is_cut[member] || !parts.etcd.is_up(member)) {
        to_next_member(member);
        tell_end(watch, {.kind = Failure::Kind::unknown, .message = "connection lost"});
        return;
    }
    const std::uint64_t at_etcd = parts.etcd.watch(std::move(watcher));
    if (const auto still = watches_.find(watch); still != watches_.end()) {
        still->second.at_etcd = at_etcd;
    }
}

void SimulatedApi::tell_events(WatchId watch, etcd::Revision revision,
                               std::vector<etcd::WatchEvent> events) {
    const auto found = watches_.find(watch);
    if (found == watches_.end()) return;
    if (channel_->parts.line.is_cut[found->second.member]) {
        channel_->parts.etcd.unwatch(found->second.at_etcd);
        return tell_end(watch, {.kind = Failure::Kind::unknown, .message = "connection lost"});
    }
    Moment& last = found->second.last_arrival;
    last =
        std::max(channel_->parts.world.now() + draw_delay(channel_->parts, Way::local), last + 1us);
    channel_->parts.world.at(
        last, [channel = channel_, watch, revision, events = std::move(events)]() mutable {
            in_turn(channel, [watch, revision, events = std::move(events)](SimulatedApi& api) {
                const auto still = api.watches_.find(watch);
                if (still == api.watches_.end()) return;
                const OnEvents on_events = still->second.on_events;
                on_events(revision, events);
            });
        });
}

void SimulatedApi::tell_end(WatchId watch, Failure failure) {
    const auto found = watches_.find(watch);
    if (found == watches_.end()) return;
    found->second.at_etcd = 0;
    Moment& last = found->second.last_arrival;
    last =
        std::max(channel_->parts.world.now() + draw_delay(channel_->parts, Way::local), last + 1us);
    channel_->parts.world.at(last, [channel = channel_, watch, failure = std::move(failure)] {
        in_turn(channel, [watch, failure](SimulatedApi& api) {
            auto node = api.watches_.extract(watch);
            if (!node.empty()) node.mapped().on_end(failure);
        });
    });
}

void SimulatedApi::cancel(WatchId watch) {
    const auto node = watches_.extract(watch);
    if (!node.empty() && node.mapped().at_etcd != 0) {
        channel_->parts.etcd.unwatch(node.mapped().at_etcd);
    }
}

void SimulatedApi::range(etcd::RangeRequest request, Duration timeout,
                         etcd::OnAnswer<etcd::RangeAnswer> done) {
    ask<etcd::RangeAnswer>(
        Way::read,
        [request = std::move(request)](SimulatedEtcd& etcd, std::size_t member) {
            return std::optional(etcd.range(member, request));
        },
        timeout, std::move(done));
}

}  // namespace holdfast::sim
