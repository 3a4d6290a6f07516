#include "app/cluster/etcd_access.h"

#include <algorithm>
#include <utility>

#include "base/token_file.h"
#include "etcd/cluster_url.h"
#include "net/sockets/endpoint.h"

namespace holdfast::app {

namespace {

bool uses_tls(const etcd::ClusterUrl& url, const ClusterOptions& options) {
    return url.is_tls || !options.ca_file.empty() || !options.tls.certificate_file.empty();
}

bool is_this_machine(const etcd::Member& member) {
    if (member.host == "localhost") return true;
    const auto endpoint = net::parse_endpoint(member.to_text());
    return endpoint && endpoint->is_local();
}

}  // namespace

std::string plain_etcd_warning(const ClusterOptions& options, bool is_insecure) {
    const auto url = etcd::ClusterUrl::parse(options.etcd);
    if (!url || is_insecure || uses_tls(*url, options)) return {};
    if (std::ranges::all_of(url->members, is_this_machine)) return {};
    return "what this node sends to etcd and reads there is not encrypted, passwords and the "
           "tokens "
           "of leases included: use etcds:// and --cluster-ca, or --insecure if you want this. The "
           "next version does not start so";
}

base::Result<etcd::ClientSettings> etcd_settings(const ClusterOptions& options) {
    TRY(auto url, etcd::ClusterUrl::parse(options.etcd));
    const bool is_tls = uses_tls(url, options);
    etcd::ClientSettings settings{.members = std::move(url.members),
                                  .is_tls = is_tls,
                                  .ca_file = options.ca_file,
                                  .certificate = options.tls,
                                  .user = options.user};
    if (!options.password_file.empty()) {
        TRY(settings.password, base::read_token_file(options.password_file));
    }
    return settings;
}

base::Result<EtcdAccess> open_etcd(const ClusterOptions& options, net::EventLoop& loop) {
    TRY(auto settings, etcd_settings(options));
    TRY(auto url, etcd::ClusterUrl::parse(options.etcd));
    TRY(auto client, etcd::Client::open(loop, std::move(settings)));
    return EtcdAccess{.client = std::move(client), .prefix = std::move(url.prefix)};
}

}  // namespace holdfast::app
