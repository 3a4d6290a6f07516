#include "app/cluster/etcd_access.h"

#include <utility>

#include "base/token_file.h"
#include "etcd/cluster_url.h"

namespace holdfast::app {

base::Result<EtcdAccess> open_etcd(const ClusterOptions& options, net::EventLoop& loop) {
    TRY(auto url, etcd::ClusterUrl::parse(options.etcd));
    etcd::ClientSettings settings{
        .members = std::move(url.members),
        .is_tls = url.is_tls || !options.ca_file.empty() || !options.tls.certificate_file.empty(),
        .ca_file = options.ca_file,
        .certificate = options.tls,
        .user = options.user};
    if (!options.password_file.empty()) {
        TRY(settings.password, base::read_token_file(options.password_file));
    }
    TRY(auto client, etcd::Client::open(loop, std::move(settings)));
    return EtcdAccess{.client = std::move(client), .prefix = std::move(url.prefix)};
}

}  // namespace holdfast::app
