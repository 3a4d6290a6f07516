#pragma once

// Candidate: this node in the cluster. It does in etcd what Leadership orders, and hands the rest of
// the orders to the store.
//
// Joining takes three transactions. The first only reads, which works even if etcd is full: who leads,
// and the secret, so that connections can be passed on. The second makes the cluster's keys if there are none: format,
// secret, counter, epoch. The third writes the node's own key, bound to its lease. Its put is in a
// nested transaction, so that an imitation of etcd that cannot do these is found out at the start.
//
// Thread safety: none; on the thread of the loop.
// Lifetime: `etcd`, `slots` and `keys` outlive this; nothing is called after the destructor.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cluster/leading/leadership.h"
#include "cluster/records/keys.h"
#include "cluster/records/records.h"
#include "cluster/timers.h"
#include "cluster/view.h"
#include "etcd/api.h"

namespace holdfast::cluster {

// The layout of the keys that this program knows.
inline constexpr std::uint64_t format_version = 1;

// What nodes prove to each other that they belong to the cluster.
[[nodiscard]] std::string make_secret(const std::function<std::uint64_t()>& random);

class Candidate {
  public:
    // Orders to the store, in the words of Leadership::Order. Each may call the candidate.
    struct Hooks {
        std::function<void(etcd::Revision)> load;
        std::function<void(const std::string& why)> step_down;
        std::function<void()> finish;
        std::function<void()> stopped;
        std::function<void(const std::string& why)> refuse;
        // Until when the node may answer from memory. Told before anything else is done.
        std::function<void(core::Time)> authority;
        // Something may be different from what it was.
        std::function<void()> changed;
    };

    struct Parts {
        etcd::Api& etcd;
        TimerSlots& slots;
        const Keys& keys;
        std::function<std::uint64_t()> random;
    };

    Candidate(Node node, LeaseTimes times, Parts parts, Hooks hooks);
    ~Candidate();

    // As Leadership has them.
    void start();
    void want();
    void loaded();
    void confirmed(const Leader& self);
    void fail(const std::string& why);
    void resign();
    void finished();
    void retire(const std::string& why);
    void retired();
    void stop();
    // Steps down if the deadline has passed.
    void look_at_time();

    [[nodiscard]] const Leadership& leadership() const { return leadership_; }
    [[nodiscard]] Leadership::State state() const { return leadership_.state(); }
    // The leader as far as it is known; this node only after confirmed().
    [[nodiscard]] Leader leader() const;
    [[nodiscard]] const std::string& secret() const { return secret_; }
    // Why nobody leads, or why nobody is known to. A sentence for people; empty if somebody leads.
    [[nodiscard]] std::string why_nobody_leads() const;
    // Why this node has not joined, although it tries; empty: it has, or nothing is known against it.
    [[nodiscard]] std::string why_not_joined() const;

  private:
    using Order = Leadership::Order;
    using Ticket = Leadership::Ticket;

    template <class Input>
    void tell(Input input);
    void run();
    void carry_out(const Order& order);
    void read(const Order& order);
    [[nodiscard]] etcd::Answer<std::optional<etcd::KeyValue>> take_cluster(
        const etcd::Answer<etcd::TransactionAnswer>& answer);
    void enrol(const Order& order);
    void put_node(const Leadership::Order& order, etcd::Compare condition);
    void settle_name(const Leadership::Order& order, const etcd::TransactionAnswer& answer);
    void enrol_node(const Order& order);
    void campaign(const Order& order);
    void look(const Order& order);
    void confirm(const Order& order);
    void take_secret(Ticket ticket, const etcd::TransactionAnswer& answer);
    void watch(const Order& order);
    void report_trouble();
    [[nodiscard]] bool has_lead() const;
    [[nodiscard]] core::Time now() const { return parts_.slots.now(); }

    const Node node_;
    const Parts parts_;
    const Hooks hooks_;
    Leadership leadership_;
    bool is_running_ = false;
    std::string secret_;
    Leader self_;  // while it leads
    std::string reported_trouble_;
    core::Time report_from_ = core::Time::min();
    etcd::Api::WatchId watch_ = 0;
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace holdfast::cluster
