#pragma once

// HostNames: the names by which clients may call this server while it needs no token.
//
// The owner of a web page can let the page's name point to this machine (DNS rebinding). Then the
// browser thinks that page and server are the same site, and the page may read every answer. But
// the page cannot change the `Host` of its requests, which is its own name. So a server without a
// token answers only requests with a name that no page from elsewhere can have: an IP address,
// `localhost` or a name below it, the name of this machine, also in a domain that only local networks
// have (`box.local`), or a name that the operator has given.
//
// Thread safety: every method from any thread.

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::app {

class HostNames {
  public:
    // Adds these names to IP addresses and localhost. REQUIRES: is_host_name() of each.
    explicit HostNames(const std::vector<std::string>& names);

    // Adds the names of this machine, and the configured ones. REQUIRES: as above.
    [[nodiscard]] static HostNames of_this_machine(const std::vector<std::string>& configured);

    // Whether `authority`, the value of a Host header (`box`, `Box.example.org.:8080`,
    // `[::1]:8080`), names this server. The port does not matter.
    [[nodiscard]] bool includes(std::string_view authority) const;

  private:
    std::vector<std::string> names_;  // in lower case, without a dot at the end
};

// Whether a text can be a host name, without a port.
[[nodiscard]] bool is_host_name(std::string_view text);

// What a machine knows of its own name.
struct MachineFacts {
    std::string_view host_name;
    std::string_view hosts;  // the text of /etc/hosts
};

// The names of that machine: its host name, the same without its domain, with a domain of local
// networks (`.local`, `.lan`, `.home.arpa`, `.internal`), and with the domain that /etc/hosts has for
// it.
[[nodiscard]] std::vector<std::string> machine_names(const MachineFacts& facts);

}  // namespace holdfast::app
