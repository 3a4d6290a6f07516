#pragma once

// What `holdfast serve` can be told of a cluster.

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "net/sockets/endpoint.h"
#include "net/tls/tls_context.h"
#include "options/options.h"

namespace holdfast::app {

struct ClusterOptions {
    std::string etcd;  // etcd://h1:2379,h2:2379,h3:2379/prefix; empty: this server stands alone
    std::string ca_file;
    net::TlsFiles tls;  // what this node shows to etcd
    std::string user;
    std::string password_file;
    std::string node;  // empty: the name of the machine
    std::chrono::milliseconds ttl{3'000};
    std::uint64_t quota_bytes = std::uint64_t{2} * 1024 * 1024 * 1024;
    std::size_t history_rows_max = 10'000;  // of holds, in etcd
    bool leaves_history = false;            // etcd is compacted by somebody else
    // Where the other nodes connect to, and by which host they reach this one.
    std::string peer_address = "127.0.0.1:8083";
    std::string advertised_host;  // empty: the address of the listener
    net::TlsFiles peer_tls;
    std::string peer_ca_file;
    bool has_shared_files = false;  // all nodes see the same folder of files

    [[nodiscard]] bool is_on() const { return !etcd.empty(); }
};

// The options that say how to speak with etcd; declare_cluster_options() has them, too.
void declare_etcd_access(const options::Command& command, ClusterOptions& options);
void declare_cluster_options(const options::Command& command, ClusterOptions& options);

// Refuses what cannot work or what strangers could use. `is_insecure` is the option --insecure.
[[nodiscard]] base::Result<void> check_cluster(const ClusterOptions& options, bool is_insecure);

// The name of this node.
[[nodiscard]] std::string node_name(const ClusterOptions& options);

// HOST:PORT by which the other nodes reach a listener that is bound to `bound`.
[[nodiscard]] std::string advertised_peer(const ClusterOptions& options,
                                          const net::Endpoint& bound);

}  // namespace holdfast::app
