#include "holdfast/client_options.h"

#include <cstdlib>
#include <string_view>

#include "sdk/http/exchange.h"

namespace holdfast {

namespace {

std::string_view variable(const char* name) {
    const char* const value = std::getenv(name);
    return value ? value : "";
}

}  // namespace

ClientOptions ClientOptions::from_environment() {
    ClientOptions options;
    if (auto servers = sdk::split_by_commas(variable("HOLDFAST_SERVER")); !servers.empty()) {
        options.servers = std::move(servers);
    }
    options.token = variable("HOLDFAST_TOKEN");
    options.token_file = variable("HOLDFAST_TOKEN_FILE");
    options.ca_file = variable("HOLDFAST_CA_FILE");
    return options;
}

}  // namespace holdfast
