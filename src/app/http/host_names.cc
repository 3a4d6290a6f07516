#include "app/http/host_names.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/case_conv.hpp>
#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
#include <boost/asio/ip/address.hpp>
#include <fstream>
#include <iterator>
#include <optional>

namespace holdfast::app {

namespace {

constexpr std::size_t name_bytes_max = 253;  // of DNS

// The domains that home and office networks give their machines. Names below them are answered by
// the network itself (mDNS, the router), never by the public DNS, so no web page can own one.
constexpr std::array<std::string_view, 4> local_domains{".local", ".lan", ".home.arpa",
                                                        ".internal"};

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// The form in which names are compared: `Box.` becomes `box`.
std::string normal(std::string_view name) {
    if (name.ends_with('.')) name.remove_suffix(1);
    return boost::algorithm::to_lower_copy(std::string(name), std::locale::classic());
}

std::string_view without_domain(std::string_view name) {
    return name.substr(0, name.find('.'));
}

// The host of an authority, without its port; an IPv6 address with its brackets. nullopt if the
// text is no authority.
std::optional<std::string_view> host_of(std::string_view authority) {
    const std::size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
    if (bracket == std::string_view::npos) return std::nullopt;
    const std::size_t end = std::min(authority.find(':', bracket), authority.size());
    const std::string_view port = authority.substr(std::min(end + 1, authority.size()));
    if (!std::all_of(port.begin(), port.end(), is_digit)) return std::nullopt;
    return authority.substr(0, end);
}

bool is_ip_address(std::string_view host) {
    boost::system::error_code error;
    if (host.starts_with('[') && host.ends_with(']')) {
        boost::asio::ip::make_address_v6(std::string(host.substr(1, host.size() - 2)), error);
    } else {
        boost::asio::ip::make_address_v4(std::string(host), error);
    }
    return !error;
}

std::string own_host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string read_hosts_file() {
    std::ifstream file("/etc/hosts");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

HostNames::HostNames(const std::vector<std::string>& names) {
    for (const std::string& name : names) names_.push_back(normal(name));
}

HostNames HostNames::of_this_machine(const std::vector<std::string>& configured) {
    const std::string host_name = own_host_name(), hosts = read_hosts_file();
    std::vector<std::string> names = machine_names({.host_name = host_name, .hosts = hosts});
    names.insert(names.end(), configured.begin(), configured.end());
    return HostNames(names);
}

bool HostNames::includes(std::string_view authority) const {
    const auto host = host_of(authority);
    if (!host) return false;
    if (is_ip_address(*host)) return true;
    const std::string name = normal(*host);
    return name == "localhost" || name.ends_with(".localhost") ||
           std::find(names_.begin(), names_.end(), name) != names_.end();
}

bool is_host_name(std::string_view text) {
    const std::string name = normal(text);
    const auto is_of_name = [](char c) {
        return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_' || c == '.';
    };
    return !name.empty() && name.size() <= name_bytes_max && !name.starts_with('.') &&
           std::all_of(name.begin(), name.end(), is_of_name);
}

std::vector<std::string> machine_names(const MachineFacts& facts) {
    std::vector<std::string> names;
    const auto add = [&names](const std::string& name) {
        const bool is_new = std::find(names.begin(), names.end(), name) == names.end();
        if (is_new && is_host_name(name)) names.push_back(name);
    };
    const std::string own = normal(facts.host_name);
    const std::string plain(without_domain(own));
    if (plain.empty()) return names;
    add(own);
    add(plain);
    for (const std::string_view domain : local_domains) add(plain + std::string(domain));
    std::string_view hosts = facts.hosts;
    while (!hosts.empty()) {
        std::string_view line = hosts.substr(0, hosts.find('\n'));
        hosts.remove_prefix(std::min(hosts.size(), line.size() + 1));
        line = line.substr(0, line.find('#'));
        std::vector<std::string> words;
        boost::algorithm::split(words, line, boost::algorithm::is_any_of(" \t\r"),
                                boost::algorithm::token_compress_on);
        std::transform(words.begin(), words.end(), words.begin(), normal);
        const bool is_of_own = std::find(words.begin(), words.end(), own) != words.end() ||
                               std::find(words.begin(), words.end(), plain) != words.end();
        if (!is_of_own) continue;
        for (const std::string& word : words) {
            if (without_domain(word) == plain) add(word);
        }
    }
    return names;
}

}  // namespace holdfast::app
