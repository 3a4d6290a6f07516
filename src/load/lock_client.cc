#include "load/lock_client.h"

#include <fstream>

#include "load/dflockd_client.h"
#include "load/homelab_client.h"
#include "load/lockserver_client.h"

namespace holdfast::load {

namespace {

// The first line of the file; empty without a file.
base::Result<std::string> read_token(const std::string& path) {
    std::string token;
    if (path.empty()) return token;
    std::ifstream file(path);
    if (!std::getline(file, token) || token.empty()) {
        return base::fail("cannot read a token from " + path);
    }
    if (token.back() == '\r') token.pop_back();
    return token;
}

template <class Client>
// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): as in the caller
base::Result<std::unique_ptr<LockClient>> open_http(const LoadOptions& options, std::string owner,
                                                    const std::string& token) {
    // HOLDFAST_SERVER may name several, of which one is enough to be measured.
    const std::string url = options.url.substr(0, options.url.find(','));
    TRY(auto door, HttpDoor::open(url, options.ca_file, token));
    return std::make_unique<Client>(std::move(door), std::move(owner), options.ttl);
}

}  // namespace

base::Result<std::unique_ptr<LockClient>> open_client(const LoadOptions& options,
                                                      const std::string& owner) {
    TRY(const std::string token, read_token(options.token_file));
    switch (options.door) {
        case Door::lockserver: return open_http<LockserverClient>(options, owner, token);
        case Door::homelab: return open_http<HomelabClient>(options, owner, token);
        case Door::dflockd: break;
    }
    TRY(auto line, LineConnection::open(options.dflockd_address));
    return std::make_unique<DflockdClient>(std::move(line), token, options.ttl);
}

}  // namespace holdfast::load
