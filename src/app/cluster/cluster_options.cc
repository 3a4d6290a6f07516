#include "app/cluster/cluster_options.h"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace holdfast::app {

namespace {

constexpr std::size_t node_length_max = 64;

// A node's name is a part of a key and of log lines.
bool is_node_name(const std::string& name) {
    const auto is_plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_' || c == '.';
    };
    return !name.empty() && name.size() <= node_length_max &&
           std::all_of(name.begin(), name.end(), is_plain);
}

void declare_etcd(const options::Command& command, ClusterOptions& options) {
    command
        .add_option("--cluster", options.etcd,
                    "be a node of the cluster that has its locks in this etcd, such as "
                    "etcds://h1:2379,h2:2379,h3:2379/holdfast (etcd:// without TLS); clusters that "
                    "share an etcd need different paths")
        .takes("URL");
    declare_etcd_access(command, options);
    command.add_duration(
        "--cluster-ttl", options.ttl,
        "how long the other nodes wait for a leader that is gone before one of them takes over");
    command
        .add_option("--cluster-quota", options.quota_bytes,
                    "the --quota-backend-bytes that etcd was started with; new locks are refused "
                    "when 85 % of it is used")
        .takes("BYTES")
        .shows_default();
    command
        .add_option(
            "--cluster-history-max", options.history_rows_max,
            "largest number of holds in the history of a cluster, which is in etcd; it also "
            "takes 4 MiB at most")
        .takes("ROWS")
        .shows_default();
    command.add_flag("--cluster-keep-history", options.leaves_history,
                     "do not compact etcd's history, because something else does");
}

void declare_peers(const options::Command& command, ClusterOptions& options) {
    const auto fault_of = [](const std::string& name) {
        return is_node_name(name) ? std::string()
                                  : "'" + name +
                                        "' cannot be the name of a node: use at most 64 letters, "
                                        "digits, dots, hyphens and underscores";
    };
    command
        .add_option("--node", options.node, "name of this node. Default: the name of the machine")
        .takes("NAME")
        .checked_by(fault_of);
    command.add_option("--peer", options.peer_address, "address for the other nodes: ADDR:PORT")
        .takes("ADDRESS")
        .shows_default();
    command
        .add_option("--advertise", options.advertised_host,
                    "host name or address at which the other nodes reach this one. Default: the "
                    "address of --peer")
        .takes("HOST");
    command.add_file(
        "--peer-cert", options.peer_tls.certificate_file,
        "certificate of this node; nodes then use TLS among each other; read again on SIGHUP");
    command.add_file("--peer-key", options.peer_tls.key_file,
                     "key of that certificate; read again on SIGHUP");
    command.add_file(
        "--peer-ca", options.peer_ca_file,
        "certificates that must have signed those of the other nodes; read again on SIGHUP");
    command.add_flag("--files-shared", options.has_shared_files,
                     "all nodes see the same folder of files");
}

}  // namespace

void declare_etcd_access(const options::Command& command, ClusterOptions& options) {
    command.add_file("--cluster-ca", options.ca_file,
                     "certificates that must have signed etcd's; read again on SIGHUP");
    command.add_file("--cluster-cert", options.tls.certificate_file,
                     "client certificate for etcd; read again on SIGHUP");
    command.add_file("--cluster-key", options.tls.key_file,
                     "key of that certificate; read again on SIGHUP");
    command.add_option("--cluster-user", options.user, "user name for etcd").takes("NAME");
    command.add_file("--cluster-password-file", options.password_file,
                     "file with the password of that user in its first line; read again on SIGHUP");
}

void declare_cluster_options(const options::Command& command, ClusterOptions& options) {
    declare_etcd(command, options);
    declare_peers(command, options);
}

base::Result<void> check_cluster(const ClusterOptions& options, bool is_insecure) {
    if (!options.is_on()) return {};
    if (options.tls.certificate_file.empty() != options.tls.key_file.empty()) {
        return base::fail("--cluster-cert and --cluster-key belong together: give both or neither");
    }
    if (options.user.empty() != options.password_file.empty()) {
        return base::fail(
            "--cluster-user and --cluster-password-file belong together: give both or neither");
    }
    if (options.ttl < std::chrono::seconds(2) || options.ttl > std::chrono::minutes(1)) {
        return base::fail(
            "--cluster-ttl must be at least 2s, because etcd allows no less, and at most 1m");
    }
    const bool has_peer_tls = !options.peer_tls.certificate_file.empty();
    if (has_peer_tls != !options.peer_tls.key_file.empty() ||
        has_peer_tls != !options.peer_ca_file.empty()) {
        return base::fail(
            "--peer-cert, --peer-key and --peer-ca belong together: give all or none");
    }
    if (!is_node_name(node_name(options))) {
        return base::fail("the name of this machine, '" + node_name(options) +
                          "', cannot be the name of a node: choose one with --node");
    }
    TRY(const auto peer, net::parse_endpoint(options.peer_address));
    if (peer.is_unix()) return base::fail("--peer must be ADDR:PORT: other machines connect to it");
    if (peer.port() == 0) {
        return base::fail("--peer needs a fixed port, not 0: other nodes connect to it");
    }
    if (peer.is_unspecified() && options.advertised_host.empty()) {
        return base::fail(
            "--peer " + options.peer_address +
            " does not say at which address other nodes reach this one: set it with --advertise");
    }
    if (peer.is_local() || has_peer_tls || is_insecure) return {};
    return base::fail("refusing to listen for other nodes on " + options.peer_address +
                      ": the data of clients would be sent without encryption. Add --peer-cert, "
                      "--peer-key and --peer-ca, or --insecure if you want this");
}

std::string node_name(const ClusterOptions& options) {
    if (!options.node.empty()) return options.node;
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) return "";
    return name.data();
}

std::string advertised_peer(const ClusterOptions& options, const net::Endpoint& bound) {
    std::string text = net::to_text(bound);
    if (options.advertised_host.empty()) return text;
    const bool is_bare_v6 = options.advertised_host.find(':') != std::string::npos &&
                            !options.advertised_host.starts_with('[');
    const std::string host =
        is_bare_v6 ? "[" + options.advertised_host + "]" : options.advertised_host;
    return host + text.substr(text.rfind(':'));
}

}  // namespace holdfast::app
