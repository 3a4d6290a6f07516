#pragma once

// Leadership: how a node joins the cluster, gets the lead, keeps it and loses it.
//
// A pure state machine: time and what has arrived come in, and what to send comes out as orders. It
// has no clock and no socket, so a test drives it through years in no time.
//
//   state         what happens                                 goes on
//   idle          nothing yet                                  start(): joining
//   joining       what the cluster has is read, and who        granted: enrolling
//                 leads; then a lease is asked for
//   enrolling     the node writes itself down in etcd          done: campaigning, or following
//                                                              if it does not want to lead
//   campaigning   IF nobody leads THEN this node does          won: loading; lost, or not
//                                                              answered: following
//   following     the leader's key is watched, and looked at   the key is gone: campaigning
//                 after each event, and every two seconds
//                 anyway (or TTL / 4)
//   loading       the store reads everything at the revision   loaded(): confirming
//                 of the election
//   confirming    the first guarded commit                     confirmed(): leading
//   leading       the node serves                              resign(): resigning
//   resigning     the commit under way is finished             finished(): leaving
//   leaving       after retire(): the store changes what only  retired(): the lease is revoked
//                 a node without the lead may change
//                 the lease is revoked                         answered or not: joining, or stopped
//   stopped       nothing any more                             start(): joining
//
//   joining and enrolling need room in etcd, and reading needs none. So after each failure there
//   what the cluster has is read again before the next attempt: a node that cannot join knows who leads.
//
//   at any time, with a lease
//     the lease is gone, or its deadline has passed, or the store calls fail(): joining. If the
//     node led or was about to, the order step_down comes first.
//   etcd rejects this node for good: stopped, by the order refuse
//
// The end of the lease. etcd counts the time of a lease from some moment after the request was sent, so
// the node counts from the moment of sending: it is over here before it is over there. A part of the
// time is left out for clocks that do not run equally fast.
//
// The end of authority, up to which a leader answers from memory. To lead is to have the leader's key,
// and a lease can outlive the key that is bound to it: somebody removes the key, or etcd begins a new
// epoch. So a renewal of the lease is not enough. After each renewal that was answered, the node sends
// a confirmation: a transaction that is done only if the key is the one of its election, has its
// lease, and the epoch is its own. Only when that is done, authority lasts as long as the renewal says.
// So everything that authority rests on was sent before the key was seen in its place:
//
//     renewal sent ──► answered ──► confirmation sent ──► done     authority: until the time of
//          │                                                       sending the renewal, plus the
//          └────────────────────── usable TTL ──────────────►      usable TTL
//
// The first commit of a leader is its first confirmation, for the renewals that were answered before
// it was sent. The leader also watches its key. That is faster, but no proof: events may come late or
// never.
//
// Every request has a ticket, and its answer is taken only while the machine still waits for that
// ticket. So an answer to a question of an earlier state does nothing.
//
// Thread safety: none.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/values/ids.h"
#include "etcd/api.h"
#include "etcd/wire/messages.h"

namespace holdfast::cluster {

// Of the lease of a node.
struct LeaseTimes {
    // At least two seconds, the least that etcd grants.
    std::chrono::seconds ttl{3};
    // And at least every quarter of the TTL. A leader whose key etcd removes too early finds out after so
    // long.
    core::Duration renewed_every = std::chrono::milliseconds{500};
};

class Leadership {
  public:
    enum class State : std::uint8_t {
        idle,
        joining,
        enrolling,
        campaigning,
        following,
        loading,
        confirming,
        leading,
        resigning,
        leaving,
        stopped,
    };
    using Ticket = std::uint64_t;

    // What to do. Orders are carried out in their order.
    struct Order {
        enum class Kind : std::uint8_t {
            // Requests to etcd; the answer comes back with the ticket.
            read,        // format, secret and leader's key -> on_read()
            grant,       // a lease of options().ttl -> on_granted()
            enrol,       // with `lease` -> on_enrolled()
            campaign,    // with `lease` -> on_campaigned()
            look,        // at the leader's key, and the secret -> on_looked()
            keep_alive,  // `lease` -> on_kept_alive()
            confirm,     // `lease` and the election at `revision` -> on_confirmed()
            revoke,      // `lease` -> on_revoked()
            watch,       // the leader's key from `revision` on -> on_watched(), on_watch_ended()
            stop_watching,
            // To the store.
            load,       // everything at `revision`, then loaded()
            step_down,  // the lead is lost: `why`. What is under way will not be known
            finish,     // what is under way, then finished()
            stopped,    // by stop()
            refuse,     // this node cannot be a part of the cluster: `why`
        };
        Kind kind = Kind::grant;
        Ticket ticket = 0;
        etcd::LeaseId lease = 0;
        etcd::Revision revision = 0;
        core::Duration timeout{0};
        std::string why = {};
    };

    // What etcd has said to a confirmation.
    struct Confirmation {
        bool is_leader = false;
        std::string why = {};         // if it is not: a sentence for people
        etcd::Revision revision = 0;  // of etcd, when it looked
    };

    explicit Leadership(LeaseTimes times)
        : wanted_ttl_(times.ttl), renewed_every_(times.renewed_every) {}

    // ---- What the node wants ----

    // Joins. REQUIRES: the state is idle or stopped.
    void start(core::Time now);
    // From now on it takes the lead if nobody has it. Forgotten with every step_down.
    void want(core::Time now);
    // The store has read everything; has made its first commit; cannot go on leading.
    // REQUIRES: the state is the one that the table names; for fail(), loading or later.
    void loaded();
    void confirmed(core::Time now);
    void fail(core::Time now, std::string why);
    // REQUIRES: the state is leading.
    void resign(core::Time now);
    // REQUIRES: the state is resigning.
    void finished(core::Time now);
    // Gives up the lead, but keeps the key, so that no other node leads yet: until retired().
    // REQUIRES: has_lead().
    void retire(core::Time now, const std::string& why);
    // Lets the others lead. Does nothing if the node is not leaving, or etcd is asked for it already.
    void retired(core::Time now);
    void stop(core::Time now);
    // Lets happen what is due.
    void advance(core::Time now);

    // ---- What etcd has answered ----
    // The leader's key; nothing: nobody leads, or there is no cluster yet.
    void on_read(core::Time now, Ticket ticket,
                 const etcd::Answer<std::optional<etcd::KeyValue>>& leader);
    void on_granted(core::Time now, Ticket ticket, const etcd::Answer<etcd::LeaseAnswer>& answer);
    void on_enrolled(core::Time now, Ticket ticket, const tl::expected<void, etcd::Failure>& done);
    void on_campaigned(core::Time now, Ticket ticket,
                       const etcd::Answer<etcd::TransactionAnswer>& answer);
    void on_looked(core::Time now, Ticket ticket, const etcd::Answer<etcd::RangeAnswer>& answer);
    void on_kept_alive(core::Time now, Ticket ticket,
                       const etcd::Answer<etcd::LeaseAnswer>& answer);
    void on_confirmed(core::Time now, Ticket ticket, const etcd::Answer<Confirmation>& answer);
    void on_revoked(core::Time now, Ticket ticket);
    void on_watched(core::Time now, Ticket ticket, const std::vector<etcd::WatchEvent>& events);
    void on_watch_ended(core::Time now, Ticket ticket);

    // ---- What it says ----

    // The orders since this was called last.
    [[nodiscard]] std::vector<Order> take_orders();
    // When advance() should be called next; nothing: when something has arrived.
    [[nodiscard]] std::optional<core::Time> next_deadline() const;
    [[nodiscard]] State state() const { return state_; }
    // It was elected, and has not given up the lead: the state is loading, or later up to resigning.
    [[nodiscard]] bool has_lead() const;
    // Whether the answer to this request of the present state is still waited for.
    [[nodiscard]] bool awaits(Ticket ticket) const { return ticket != 0 && ticket == asked_; }
    // Until when the node may answer from memory: the far past unless it leads.
    [[nodiscard]] core::Time authority() const;
    // The revision of its election. REQUIRES: the state is loading, or later up to resigning.
    [[nodiscard]] etcd::Revision elected_at() const { return elected_at_; }
    [[nodiscard]] etcd::LeaseId lease() const { return lease_; }
    [[nodiscard]] std::chrono::seconds ttl() const { return wanted_ttl_; }
    // The key of another leader, as far as it is known. A node that has lost its lease still has the
    // last one that it saw.
    [[nodiscard]] const std::optional<etcd::KeyValue>& leader() const { return leader_; }
    // The last trouble with etcd; empty after a success.
    [[nodiscard]] const std::string& trouble() const { return trouble_; }

  private:
    Ticket order(Order::Kind kind, core::Duration timeout);
    void ask(core::Time now, Order::Kind kind);
    [[nodiscard]] bool takes(core::Time now, Ticket ticket);
    void try_later(core::Time now, const etcd::Failure& failure);
    [[nodiscard]] bool gives_up(core::Time now, const etcd::Failure& failure);

    void join(core::Time now);
    void ask_again(core::Time now);
    void seek(core::Time now);
    void nobody_leads(core::Time now);
    void follow(core::Time now, const etcd::KeyValue& leader, etcd::Revision seen_at);
    void win(etcd::Revision elected_at);
    void lose(core::Time now, const std::string& why);
    void give_up_lease();
    void forget_requests();
    void end();
    void leave(core::Time now, const std::string& why);
    void step_down(const std::string& why);
    void watch(etcd::Revision from);
    void stop_watching();
    [[nodiscard]] bool may_answer() const;
    [[nodiscard]] core::Time end_of_time() const;
    [[nodiscard]] bool must_confirm() const;
    [[nodiscard]] bool may_campaign(core::Time now) const;
    [[nodiscard]] core::Duration patience() const;
    [[nodiscard]] core::Duration look_interval() const;
    [[nodiscard]] core::Duration renewal_interval() const;

    const std::chrono::seconds wanted_ttl_;
    const core::Duration renewed_every_;
    State state_ = State::idle;
    bool is_wanted_ = false;
    bool is_stopping_ = false;
    std::vector<Order> orders_;
    Ticket last_ticket_ = 0;

    // The request of the present state.
    Ticket asked_ = 0;                  // 0: none
    core::Time asked_at_;               // when it was sent
    std::optional<core::Time> ask_at_;  // when to send the next
    std::string trouble_;

    etcd::LeaseId lease_ = 0;  // 0: none
    core::Duration ttl_{0};    // as granted
    core::Time deadline_;      // of the lease
    Ticket renewal_ = 0;       // 0: none is under way
    core::Time renewal_sent_at_;
    core::Time next_renewal_;

    core::Time authority_ = core::Time::min();  // its end; the node may answer only in two states
    Ticket confirmation_ = 0;                   // 0: none is under way
    // What authority_ becomes if it is done: deadline_, as it was when this was sent.
    core::Time confirmed_until_;
    core::Time next_confirmation_ = core::Time::min();

    std::optional<etcd::KeyValue> leader_;
    Ticket watch_ = 0;  // 0: none
    core::Time campaign_from_ = core::Time::min();
    etcd::Revision elected_at_ = 0;
};

[[nodiscard]] std::string_view to_text(Leadership::State state);

}  // namespace holdfast::cluster
