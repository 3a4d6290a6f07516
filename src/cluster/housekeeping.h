#pragma once

// Housekeeping: looks at etcd from time to time, and keeps it small.
//
//   every five seconds       the nodes that are up, and the size and the alarms of etcd
//   every 200 transactions   the leader drops the history that nobody needs any more. At least 60
//                            seconds of it stay: another cluster on the same etcd may be about to
//                            read at an older revision
//
//   size of the database     what follows
//   60 % of the quota        a warning in the log
//   85 % of the quota, or    no new locks (Store::refuses_growth()); releases go on
//   etcd says that it is full
//
// Thread safety: none; on the thread of the loop.
// Lifetime: `etcd`, `slots` and `keys` outlive this; nothing is called after the destructor.

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/records/keys.h"
#include "cluster/timers.h"
#include "cluster/view.h"
#include "etcd/api.h"

namespace holdfast::cluster {

// History: up to which revision the history of etcd can be dropped. Pure.
class History {
  public:
    static constexpr std::size_t transactions_between = 200;
    static constexpr core::Duration kept = std::chrono::seconds{60};

    // A transaction was done, and left etcd at `revision`.
    void add(core::Time now, etcd::Revision revision);
    // The revision up to which to compact now; nothing: it is too early.
    [[nodiscard]] std::optional<etcd::Revision> take_due(core::Time now);

  private:
    struct Sample {
        core::Time at;
        etcd::Revision revision = 0;
    };

    std::deque<Sample> samples_;  // one a second
    std::size_t transactions_ = 0;
    etcd::Revision compacted_ = 0;
};

// Why there should be no new locks; empty: there may be.
[[nodiscard]] std::string growth_refusal(const EtcdPicture& etcd);

// Why this version of etcd is not recommended; empty: it is.
[[nodiscard]] std::string version_warning(const std::string& version);

class Housekeeping {
  public:
    struct Options {
        bool compacts = true;
        std::uint64_t quota_bytes = 0;
        core::Duration look_every = std::chrono::seconds{5};
        // What the start has found: EtcdPicture::warnings begins with these.
        std::vector<std::string> warnings;
    };
    struct Parts {
        etcd::Api& etcd;
        TimerSlots& slots;
        const Keys& keys;
    };

    // `changed` is called when nodes() or etcd() are others than before.
    Housekeeping(Options options, Parts parts, std::function<void()> changed);

    // Looks now, and then every five seconds, until stop().
    void start();
    void stop();

    // This node has made a commit.
    void on_commit(etcd::Revision revision);
    // etcd has refused a commit because it is full.
    void on_full(const std::string& why);

    [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
    [[nodiscard]] const EtcdPicture& etcd() const { return etcd_; }

  private:
    void look();
    void on_status(const etcd::StatusAnswer& status);
    void on_nodes(const etcd::RangeAnswer& answer);
    void warn(double used);

    const Options options_;
    const Parts parts_;
    const std::function<void()> changed_;
    History history_;
    std::vector<Node> nodes_;
    EtcdPicture etcd_;
    bool has_warned_ = false;
    std::shared_ptr<int> alive_;  // while it is started
};

}  // namespace holdfast::cluster
