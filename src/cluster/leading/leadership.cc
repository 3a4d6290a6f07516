#include "cluster/leading/leadership.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace holdfast::cluster {

namespace {

// How long after a failure etcd is asked again.
constexpr core::Duration pause_after_failure = std::chrono::milliseconds{200};
constexpr core::Duration pause_if_full = std::chrono::seconds{1};
constexpr core::Duration look_interval_min = std::chrono::seconds{2};
constexpr core::Duration revoke_timeout = std::chrono::seconds{1};

// How much of the time of a lease is used: clocks may differ in speed by a sixty-fourth.
core::Duration usable(core::Duration ttl) {
    return ttl - ttl / 64;
}

}  // namespace

std::string_view to_text(Leadership::State state) {
    using enum Leadership::State;
    switch (state) {
        case idle: return "idle";
        case joining: return "joining";
        case enrolling: return "enrolling";
        case campaigning: return "campaigning";
        case following: return "following";
        case loading: return "loading";
        case confirming: return "confirming";
        case leading: return "leading";
        case resigning: return "resigning";
        case leaving: return "leaving";
        case stopped: return "stopped";
    }
    return "";
}

// ---- Orders and requests ----

Leadership::Ticket Leadership::order(Order::Kind kind, core::Duration timeout) {
    orders_.push_back(
        {.kind = kind, .ticket = ++last_ticket_, .lease = lease_, .timeout = timeout});
    return last_ticket_;
}

std::vector<Leadership::Order> Leadership::take_orders() {
    return std::exchange(orders_, {});
}

core::Duration Leadership::patience() const {
    return core::Duration{wanted_ttl_} / 2;
}

core::Duration Leadership::look_interval() const {
    return std::max(look_interval_min, core::Duration{wanted_ttl_} / 4);
}

core::Duration Leadership::renewal_interval() const {
    return std::min(renewed_every_, ttl_ / 4);
}

// Sends the request of the present state.
void Leadership::ask(core::Time now, Order::Kind kind) {
    ask_at_.reset();
    asked_at_ = now;
    asked_ = order(kind, kind == Order::Kind::revoke ? revoke_timeout : patience());
}

// Whether this is the answer that the present state waits for. Sees first to what is due: an answer
// that comes after the deadline is too late.
bool Leadership::takes(core::Time now, Ticket ticket) {
    advance(now);
    if (!awaits(ticket)) return false;
    asked_ = 0;
    return true;
}

void Leadership::try_later(core::Time now, const etcd::Failure& failure) {
    trouble_ = failure.message;
    ask_at_ =
        now + (failure.kind == etcd::Failure::Kind::no_space ? pause_if_full : pause_after_failure);
}

// True if there is no use in asking again with this lease, or at all.
bool Leadership::gives_up(core::Time now, const etcd::Failure& failure) {
    if (failure.kind == etcd::Failure::Kind::rejected) {
        give_up_lease();
        stop_watching();
        state_ = State::stopped;
        trouble_ = failure.message;
        orders_.push_back({.kind = Order::Kind::refuse, .why = failure.message});
        return true;
    }
    if (failure.kind == etcd::Failure::Kind::no_lease && lease_ != 0) {
        lose(now, failure.message);
        return true;
    }
    return false;
}

// Sends once more what the present state asks for.
void Leadership::ask_again(core::Time now) {
    switch (state_) {
        case State::joining:
        case State::enrolling: return ask(now, Order::Kind::read);
        // An etcd that is full does not take the campaign, but says who has won it.
        case State::campaigning: state_ = State::following; [[fallthrough]];
        case State::following: return ask(now, Order::Kind::look);
        default: ask_at_.reset();
    }
}

// ---- What the node wants ----

void Leadership::start(core::Time now) {
    CHECK(state_ == State::idle || state_ == State::stopped);
    is_stopping_ = false;
    state_ = State::joining;
    ask(now, Order::Kind::read);
}

void Leadership::join(core::Time now) {
    CHECK(lease_ == 0);
    stop_watching();
    if (is_stopping_) return end();
    state_ = State::joining;
    ask(now, Order::Kind::grant);
}

void Leadership::want(core::Time now) {
    is_wanted_ = true;
    if (state_ == State::following && !leader_ && asked_ == 0) seek(now);
}

void Leadership::loaded() {
    CHECK(state_ == State::loading);
    state_ = State::confirming;
    confirmed_until_ = deadline_;
}

void Leadership::confirmed(core::Time now) {
    CHECK(state_ == State::confirming);
    state_ = State::leading;
    authority_ = confirmed_until_;
    advance(now);
}

void Leadership::fail(core::Time now, std::string why) {
    CHECK(has_lead());
    const std::string reason = std::move(why);
    campaign_from_ = now + pause_if_full;
    lose(now, reason);
}

void Leadership::resign(core::Time now) {
    CHECK(state_ == State::leading);
    state_ = State::resigning;
    // Long enough for the others to notice, campaign and win.
    campaign_from_ = now + core::Duration{wanted_ttl_};
    orders_.push_back({.kind = Order::Kind::finish});
}

void Leadership::finished(core::Time now) {
    CHECK(state_ == State::resigning);
    leave(now, "this node has handed over its locks");
}

void Leadership::retire(core::Time now, const std::string& why) {
    CHECK(has_lead());
    campaign_from_ = now + core::Duration{wanted_ttl_};
    step_down(why);
    stop_watching();
    state_ = State::leaving;
    forget_requests();
}

void Leadership::retired(core::Time now) {
    if (state_ == State::leaving && asked_ == 0) ask(now, Order::Kind::revoke);
}

void Leadership::stop(core::Time now) {
    is_stopping_ = true;
    is_wanted_ = false;
    if (state_ == State::leaving) return retired(now);
    if (state_ == State::resigning) return;
    if (state_ == State::leading) return resign(now);
    if (lease_ != 0) return leave(now, "this node stops");
    if (state_ != State::stopped) end();
}

void Leadership::end() {
    asked_ = 0;
    ask_at_.reset();
    state_ = State::stopped;
    orders_.push_back({.kind = Order::Kind::stopped});
}

void Leadership::advance(core::Time now) {
    if (lease_ != 0 && state_ != State::leaving && now >= end_of_time()) {
        lose(now, trouble_.empty() ? "etcd did not answer in time"
                                   : "etcd did not answer in time: " + trouble_);
    }
    if (ask_at_ && now >= *ask_at_) ask_again(now);
    if (lease_ != 0 && state_ != State::leaving && renewal_ == 0 && now >= next_renewal_) {
        renewal_sent_at_ = now;
        renewal_ = order(Order::Kind::keep_alive, ttl_ / 4);
    }
    if (must_confirm() && now >= next_confirmation_) {
        confirmed_until_ = deadline_;
        confirmation_ = order(Order::Kind::confirm, ttl_ / 4);
        orders_.back().revision = elected_at_;
    }
}

std::optional<core::Time> Leadership::next_deadline() const {
    std::optional<core::Time> next = ask_at_;
    const auto include = [&](core::Time time) { next = next ? std::min(*next, time) : time; };
    if (lease_ != 0 && state_ != State::leaving) {
        include(end_of_time());
        if (renewal_ == 0) include(next_renewal_);
        if (must_confirm()) include(next_confirmation_);
    }
    return next;
}

bool Leadership::may_answer() const {
    return state_ == State::leading || state_ == State::resigning;
}

core::Time Leadership::authority() const {
    return may_answer() ? authority_ : core::Time::min();
}

// Of the lease, or of what a leader makes of it.
core::Time Leadership::end_of_time() const {
    return may_answer() ? authority_ : deadline_;
}

// The lease was renewed since the key was seen in its place.
bool Leadership::must_confirm() const {
    return may_answer() && confirmation_ == 0 && deadline_ > authority_;
}

// ---- Joining ----

void Leadership::on_read(core::Time now, Ticket ticket,
                         const etcd::Answer<std::optional<etcd::KeyValue>>& leader) {
    if (!takes(now, ticket)) return;
    if (!leader) {
        if (!gives_up(now, leader.error())) try_later(now, leader.error());
        return;
    }
    leader_ = *leader;
    ask(now, state_ == State::joining ? Order::Kind::grant : Order::Kind::enrol);
}

// ---- The lease ----

void Leadership::on_granted(core::Time now, Ticket ticket,
                            const etcd::Answer<etcd::LeaseAnswer>& answer) {
    if (!takes(now, ticket)) {
        // Nobody waits for this lease any more.
        if (answer)
            orders_.push_back(
                {.kind = Order::Kind::revoke, .lease = answer->id, .timeout = revoke_timeout});
        return;
    }
    if (!answer) {
        if (!gives_up(now, answer.error())) try_later(now, answer.error());
        return;
    }
    trouble_.clear();
    lease_ = answer->id;
    ttl_ = std::chrono::seconds{answer->ttl_seconds};
    deadline_ = asked_at_ + usable(ttl_);
    next_renewal_ = asked_at_ + renewal_interval();
    renewal_ = 0;
    state_ = State::enrolling;
    ask(now, Order::Kind::enrol);
    advance(now);
}

void Leadership::on_kept_alive(core::Time now, Ticket ticket,
                               const etcd::Answer<etcd::LeaseAnswer>& answer) {
    advance(now);
    if (ticket == 0 || ticket != renewal_) return;
    renewal_ = 0;
    if (answer && answer->ttl_seconds > 0) {
        deadline_ = renewal_sent_at_ + usable(std::chrono::seconds{answer->ttl_seconds});
        next_renewal_ = renewal_sent_at_ + renewal_interval();
    } else if (answer || answer.error().kind == etcd::Failure::Kind::no_lease) {
        return lose(now, "the lease of this node has ended in etcd");
    } else {
        trouble_ = answer.error().message;
        next_renewal_ = now + pause_after_failure;
    }
    advance(now);
}

void Leadership::on_confirmed(core::Time now, Ticket ticket,
                              const etcd::Answer<Confirmation>& answer) {
    advance(now);
    if (ticket == 0 || ticket != confirmation_) return;
    confirmation_ = 0;
    if (!answer) {
        trouble_ = answer.error().message;
        next_confirmation_ = now + pause_after_failure;
    } else if (!answer->is_leader) {
        return lose(now, answer->why);
    } else {
        authority_ = confirmed_until_;
        next_confirmation_ = now;
        if (watch_ == 0) watch(answer->revision + 1);
    }
    advance(now);
}

// The lease is over, or must not be used any more: begins anew with another.
void Leadership::lose(core::Time now, const std::string& why) {
    step_down(why);
    give_up_lease();
    join(now);
}

void Leadership::step_down(const std::string& why) {
    if (!has_lead()) return;
    is_wanted_ = false;
    orders_.push_back({.kind = Order::Kind::step_down, .why = why});
}

// Perhaps etcd still has the lease, and with it the key that keeps others from leading.
void Leadership::give_up_lease() {
    if (lease_ != 0) order(Order::Kind::revoke, revoke_timeout);
    lease_ = 0;
    forget_requests();
}

// Their answers do nothing.
void Leadership::forget_requests() {
    renewal_ = 0;
    confirmation_ = 0;
    next_confirmation_ = core::Time::min();
    asked_ = 0;
    ask_at_.reset();
}

void Leadership::leave(core::Time now, const std::string& why) {
    step_down(why);
    stop_watching();
    state_ = State::leaving;
    forget_requests();
    ask(now, Order::Kind::revoke);
}

void Leadership::on_revoked(core::Time now, Ticket ticket) {
    if (state_ != State::leaving || ticket != asked_) return;
    asked_ = 0;
    lease_ = 0;
    join(now);
}

// ---- The lead ----

bool Leadership::has_lead() const {
    return state_ == State::loading || state_ == State::confirming || state_ == State::leading ||
           state_ == State::resigning;
}

bool Leadership::may_campaign(core::Time now) const {
    return is_wanted_ && now >= campaign_from_;
}

void Leadership::on_enrolled(core::Time now, Ticket ticket,
                             const tl::expected<void, etcd::Failure>& done) {
    if (!takes(now, ticket)) return;
    if (done) {
        trouble_.clear();
        return seek(now);
    }
    if (!gives_up(now, done.error())) try_later(now, done.error());
}

void Leadership::nobody_leads(core::Time now) {
    leader_.reset();
    seek(now);
}

// Finds out who leads, and leads itself if nobody does.
void Leadership::seek(core::Time now) {
    const bool campaigns = may_campaign(now);
    state_ = campaigns ? State::campaigning : State::following;
    ask(now, campaigns ? Order::Kind::campaign : Order::Kind::look);
}

void Leadership::on_campaigned(core::Time now, Ticket ticket,
                               const etcd::Answer<etcd::TransactionAnswer>& answer) {
    if (!takes(now, ticket)) return;
    if (!answer) {
        if (!gives_up(now, answer.error())) try_later(now, answer.error());
        return;
    }
    trouble_.clear();
    if (answer->is_true) return win(answer->revision);
    if (answer->ranges.empty() || answer->ranges.front().found.empty()) return nobody_leads(now);
    const etcd::KeyValue& leader = answer->ranges.front().found.front();
    // An earlier campaign was won, and its answer was lost.
    if (leader.lease == lease_) return win(leader.create_revision);
    follow(now, leader, answer->revision);
}

void Leadership::on_looked(core::Time now, Ticket ticket,
                           const etcd::Answer<etcd::RangeAnswer>& answer) {
    if (!takes(now, ticket)) return;
    if (!answer) {
        if (!gives_up(now, answer.error())) try_later(now, answer.error());
        return;
    }
    if (answer->found.empty()) {
        if (may_campaign(now)) return nobody_leads(now);
        leader_.reset();
        trouble_.clear();
        const core::Time next = now + look_interval();
        ask_at_ = is_wanted_ ? std::min(next, campaign_from_) : next;
        return;
    }
    trouble_.clear();
    const etcd::KeyValue& leader = answer->found.front();
    if (leader.lease != lease_) return follow(now, leader, answer->revision);
    // A campaign that was given up has been won late.
    if (is_wanted_) return win(leader.create_revision);
    give_up_lease();
    join(now);
}

void Leadership::follow(core::Time now, const etcd::KeyValue& leader, etcd::Revision seen_at) {
    state_ = State::following;
    leader_ = leader;
    ask_at_ = now + look_interval();
    if (watch_ == 0) watch(seen_at + 1);
}

void Leadership::watch(etcd::Revision from) {
    watch_ = ++last_ticket_;
    orders_.push_back({.kind = Order::Kind::watch, .ticket = watch_, .revision = from});
}

void Leadership::stop_watching() {
    if (watch_ == 0) return;
    orders_.push_back({.kind = Order::Kind::stop_watching, .ticket = watch_});
    watch_ = 0;
}

void Leadership::on_watched(core::Time now, Ticket ticket,
                            const std::vector<etcd::WatchEvent>& events) {
    advance(now);
    if (ticket == 0 || ticket != watch_ || events.empty()) return;
    if (has_lead()) {
        // The first commit changes the key, but does not make another of it.
        const bool is_gone = std::ranges::any_of(events, [this](const etcd::WatchEvent& event) {
            return event.is_removal || event.entry.create_revision != elected_at_;
        });
        if (is_gone) lose(now, "the key by which this node leads is gone from etcd");
        return;
    }
    if (state_ != State::following) return;
    const etcd::WatchEvent& last = events.back();
    if (last.is_removal) return nobody_leads(now);
    if (last.entry.lease != lease_) leader_ = last.entry;
    // With a look comes the secret, which a new epoch changes.
    ask(now, Order::Kind::look);
}

void Leadership::on_watch_ended(core::Time now, Ticket ticket) {
    advance(now);
    if (ticket == 0 || ticket != watch_) return;
    watch_ = 0;
    if (state_ == State::following && asked_ == 0) ask_at_ = now + pause_after_failure;
}

void Leadership::win(etcd::Revision elected_at) {
    stop_watching();
    watch(elected_at + 1);
    leader_.reset();
    ask_at_.reset();
    elected_at_ = elected_at;
    state_ = State::loading;
    orders_.push_back({.kind = Order::Kind::load, .revision = elected_at});
}

}  // namespace holdfast::cluster
