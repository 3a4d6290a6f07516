#include "load/lock_client.h"

#include "base/token_file.h"
#include "load/dflockd_client.h"

namespace holdfast::load {

base::Result<std::unique_ptr<LockClient>> open_client(const LoadOptions& options,
                                                      const std::string& owner) {
    ClientIdentity identity{.owner = owner};
    if (!options.token_file.empty()) {
        TRY(identity.token, base::read_token_file(options.token_file));
    }
    if (options.door != Door::dflockd) return open_http_client(options, std::move(identity));
    TRY(auto line, LineConnection::open(options.dflockd_address));
    return std::make_unique<DflockdClient>(std::move(line), std::move(identity.token), options.ttl);
}

}  // namespace holdfast::load
