#pragma once

// SimulatedApi: the way from one node to the simulated etcd, and back.
//
// One attempt with one member, like the real client: after a failure the next request goes to the
// next member. Questions and answers are late or lost; a question may be done twice, or long after
// its sender has given up. What was sent before the node died is still done.
//
// Thread safety: none. Lifetime: within that of etcd and the world.

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etcd/api.h"
#include "sim/etcd/simulated_etcd.h"
#include "sim/world.h"

namespace holdfast::sim {

// What lies between a node and the members. It outlives the node's process.
struct EtcdLine {
    std::array<bool, SimulatedEtcd::member_count> is_cut{};
};

class SimulatedApi final : public etcd::Api {
  public:
    // Everything outlives the Api.
    struct Parts {
        World& world;
        SimulatedEtcd& etcd;
        const EtcdFaults& faults;
        const EtcdLine& line;
        // Runs a task on the node: now, or when the node goes on.
        std::function<void(std::function<void()>)> in_turn;
    };

    explicit SimulatedApi(Parts parts);
    ~SimulatedApi() override;
    SimulatedApi(const SimulatedApi&) = delete;
    SimulatedApi& operator=(const SimulatedApi&) = delete;

    void range(etcd::RangeRequest request, Duration timeout,
               etcd::OnAnswer<etcd::RangeAnswer> done) override;
    void transact(std::shared_ptr<const etcd::Transaction> transaction, Duration timeout,
                  etcd::OnAnswer<etcd::TransactionAnswer> done) override;
    void grant(etcd::LeaseId id, std::chrono::seconds ttl, Duration timeout,
               etcd::OnAnswer<etcd::LeaseAnswer> done) override;
    void keep_alive(etcd::LeaseId id, Duration timeout,
                    etcd::OnAnswer<etcd::LeaseAnswer> done) override;
    void revoke(etcd::LeaseId id, Duration timeout,
                etcd::OnAnswer<etcd::LeaseAnswer> done) override;
    void compact(etcd::Revision revision, Duration timeout,
                 etcd::OnAnswer<etcd::Revision> done) override;
    void status(Duration timeout, etcd::OnAnswer<etcd::StatusAnswer> done) override;
    WatchId watch(std::string key, std::string range_end, etcd::Revision start, OnEvents on_events,
                  OnEnd on_end) override;
    void cancel(WatchId watch) override;

  private:
    // What is under way keeps this; `api` is null when the node is dead.
    struct Channel {
        Parts parts;
        SimulatedApi* api;
    };
    using ChannelPointer = std::shared_ptr<Channel>;
    enum class Way : std::uint8_t {
        agreed,  // all members agree on its place; answered when its member has applied it
        read,    // as `agreed`, but done by its member; or at once, from what that one knows
        local,   // by its member alone
    };
    template <class T>
    using Run = std::function<std::optional<etcd::Answer<T>>(SimulatedEtcd&, std::size_t member)>;
    template <class T>
    struct Question;
    template <class T>
    class Errand;
    struct Watching {
        OnEvents on_events;
        OnEnd on_end;
        std::size_t member = 0;
        std::uint64_t at_etcd = 0;  // 0: not there yet
        Moment last_arrival;
    };

    template <class T>
    void ask(Way way, Run<T> run, Duration timeout, etcd::OnAnswer<T> done);
    void begin_watch(WatchId watch, SimulatedEtcd::Watcher watcher);
    void tell_events(WatchId watch, etcd::Revision revision, std::vector<etcd::WatchEvent> events);
    void tell_end(WatchId watch, etcd::Failure failure);
    void to_next_member(std::size_t failed);
    static core::Duration draw_delay(const Parts& parts, Way way);
    static void in_turn(const ChannelPointer& channel, std::function<void(SimulatedApi&)> task);

    ChannelPointer channel_;
    std::size_t member_;
    std::map<WatchId, Watching> watches_;
    WatchId last_watch_ = 0;
};

}  // namespace holdfast::sim
