#pragma once

// ClusterHandler: the cluster as a whole, as the node that leads knows it.
//
//     GET  /v1/cluster             who leads, since when, which nodes there are, how etcd is
//     POST /v1/cluster/resign      the leader hands over to another node; needs the admin token
//     POST /v1/cluster/new-epoch   for an etcd that was restored from a backup: from now on numbers
//                                  are larger than any that was lost; needs the admin token
//
// A server that stands alone answers with 404. NodeHandler: the node that a client is connected to.
//
//     GET /v1/node                 what this node does at the moment, and whom it passes clients to
//
// Thread safety: one handler per loop.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "app/http/json_replies.h"
#include "base/result.h"
#include "cluster/view.h"
#include "net/loop/event_loop.h"
#include "service/ports/port.h"

namespace holdfast::app {

// What can be asked of the cluster, from any thread; `done` is called on the main loop.
struct ClusterControl {
    using Done = std::function<void(base::Result<std::string>)>;

    // Null: the server stands alone.
    std::function<std::shared_ptr<const cluster::Picture>()> picture;
    std::function<void(Done)> resign;
    std::function<void(Done)> begin_epoch;
    // How many connections this node passes on to the leader.
    std::function<std::uint64_t()> count_relayed;
    // Why this node cannot pass connections on to the leader that it knows; empty: it can.
    std::function<std::string()> why_not_passed_on = [] { return std::string(); };
};

// The fields of GET /v1/cluster, into the object at hand.
void append_cluster(base::JsonWriter& json, const cluster::Picture& picture);
// The bodies of GET /v1/cluster and GET /v1/node.
[[nodiscard]] std::string cluster_json(const cluster::Picture& picture);
[[nodiscard]] std::string node_json(const cluster::Picture& picture);

class ClusterHandler final : public JsonHandler {
  public:
    // All of them outlive the handler. `port`: on the thread of the loop.
    ClusterHandler(const ClusterControl& control, net::EventLoop& loop, service::Port& port)
        : control_(control), loop_(loop), port_(port) {}

    [[nodiscard]] static std::span<const net::Route> routes();

    void handle(const net::RoutedRequest& request, net::HttpReply& reply) override;

  private:
    struct Asked {
        service::AdminAction action;
        std::string_view by;
    };
    void change(const std::function<void(ClusterControl::Done)>& call, const Asked& asked,
                net::HttpReply& reply);

    const ClusterControl& control_;
    net::EventLoop& loop_;
    service::Port& port_;
};

class NodeHandler final : public JsonHandler {
  public:
    // Outlives the handler.
    explicit NodeHandler(const ClusterControl& control) : control_(control) {}

    [[nodiscard]] static std::span<const net::Route> routes();

    void handle(const net::RoutedRequest& request, net::HttpReply& reply) override;

  private:
    const ClusterControl& control_;
};

}  // namespace holdfast::app
