#pragma once

// View: what a node knows of its cluster, for every thread.
//
// The loop's thread replaces the picture as a whole; other threads take the newest one and keep it
// as long as they like.
//
// Thread safety: picture() from any thread, everything else on the loop's thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "service/ports/clock.h"

namespace holdfast::cluster {

// A node that is up.
struct Node {
    std::string name;
    std::string peer;  // HOST:PORT where other nodes reach it
    std::string version;
    service::WallTime started;

    bool operator==(const Node&) const = default;
};

// Who leads, as the leader has written it.
struct Leader {
    std::string name;
    std::string peer;
    // Zero until the leader serves: until its first commit is done.
    std::uint64_t epoch = 0;
    service::WallTime since;  // when it was elected, by its own wall clock

    bool operator==(const Leader&) const = default;
};

// What a node does at the moment.
enum class NodeRole : std::uint8_t {
    joining,      // it is not known in etcd yet, or not any more
    following,    // another node leads, or nobody does
    taking_over,  // it was elected, and reads the locks
    leading,      // it serves
    leaving,      // it hands over
    stopped,      // it does nothing any more
};
[[nodiscard]] std::string_view to_text(NodeRole role);

// What is known of etcd.
struct EtcdPicture {
    std::string version;  // empty: not known yet
    std::uint64_t database_bytes = 0;
    std::uint64_t in_use_bytes = 0;
    std::uint64_t quota_bytes = 0;
    std::vector<std::string> alarms;
    // Why no new locks are taken; empty: they are.
    std::string refuses_growth;
    // What an operator should change: sentences for people.
    std::vector<std::string> warnings;

    bool operator==(const EtcdPicture&) const = default;
};

struct Picture {
    std::string node;  // this one
    NodeRole role = NodeRole::joining;
    // As far as this node knows; an empty name: nobody. If this node leads, its own entry.
    Leader leader;
    // A sentence for people; empty if somebody leads and serves.
    std::string why_nobody_leads;
    std::vector<Node> nodes;  // in the order of their names
    EtcdPicture etcd;
    // How many holds are missing from the history because etcd did not take them.
    std::uint64_t history_dropped = 0;
    // What nodes prove to each other that they belong to the cluster; empty until it was read.
    std::string secret;

    [[nodiscard]] bool is_leading() const { return role == NodeRole::leading; }
    // Whether connections can be passed on to the leader, or served here.
    [[nodiscard]] bool is_served() const { return !leader.name.empty() && leader.epoch != 0; }

    // Whether this node serves a connection that was passed on to the leader of this epoch.
    [[nodiscard]] bool serves(std::uint64_t epoch) const;

    bool operator==(const Picture&) const = default;
};

class View {
  public:
    using OnChange = std::function<void(const Picture&)>;

    [[nodiscard]] std::shared_ptr<const Picture> picture() const {
        const std::lock_guard guard(mutex_);
        return picture_;
    }

    // Calls `on_change` on the loop's thread, after the role, the leader, its epoch or the secret has
    // changed. There may be several; each is called for ever.
    void on_change(OnChange on_change) { on_change_.push_back(std::move(on_change)); }

    // Replaces the picture, and tells if role, leader or secret are others.
    void set(Picture picture);

  private:
    mutable std::mutex mutex_;
    std::shared_ptr<const Picture> picture_ = std::make_shared<const Picture>();
    std::vector<OnChange> on_change_;
};

}  // namespace holdfast::cluster
