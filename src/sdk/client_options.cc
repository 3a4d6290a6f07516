#include "holdfast/client_options.h"

#include <cstdlib>
#include <string_view>

namespace holdfast {

namespace {

std::string_view variable(const char* name) {
    const char* const value = std::getenv(name);
    return value ? value : "";
}

std::vector<std::string> split(std::string_view list) {
    std::vector<std::string> items;
    while (!list.empty()) {
        const auto comma = list.find(',');
        if (const auto item = list.substr(0, comma); !item.empty()) items.emplace_back(item);
        list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    }
    return items;
}

}  // namespace

ClientOptions ClientOptions::from_environment() {
    ClientOptions options;
    if (auto servers = split(variable("HOLDFAST_SERVER")); !servers.empty()) {
        options.servers = std::move(servers);
    }
    options.token_file = variable("HOLDFAST_TOKEN_FILE");
    options.ca_file = variable("HOLDFAST_CA_FILE");
    return options;
}

}  // namespace holdfast
