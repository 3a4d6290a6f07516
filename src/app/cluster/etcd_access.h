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

// What is wrong with the way to etcd: its bytes travel to another machine without encryption, among them the
// password, the secret of the nodes and the tokens of leases. Empty: nothing, or --insecure was given.
[[nodiscard]] std::string plain_etcd_warning(const ClusterOptions& options, bool is_insecure);

// The settings of a client of that etcd, with the password. Fails if its file cannot be read.
[[nodiscard]] base::Result<etcd::ClientSettings> etcd_settings(const ClusterOptions& options);

// Reads certificates and the password. Connects to nobody yet. The loop outlives the client.
[[nodiscard]] base::Result<EtcdAccess> open_etcd(const ClusterOptions& options,
                                                 net::EventLoop& loop);

}  // namespace holdfast::app
