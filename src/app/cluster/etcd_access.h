#pragma once

// EtcdAccess: a client of the etcd that the options name, and where in it the cluster is.

#include <memory>
#include <string>

#include "app/cluster/cluster_options.h"
#include "base/result.h"
#include "etcd/client.h"
#include "net/loop/event_loop.h"

namespace holdfast::app {

struct EtcdAccess {
    std::unique_ptr<etcd::Client> client;
    std::string prefix;
};

// Reads certificates and the password. Connects to nobody yet. The loop outlives the client.
[[nodiscard]] base::Result<EtcdAccess> open_etcd(const ClusterOptions& options,
                                                 net::EventLoop& loop);

}  // namespace holdfast::app
