#pragma once

// HostNames: the names that this server answers to where it asks for no token.
//
// A web page can let its own name point to this machine (DNS rebinding). For the browser, page and
// server are then one, and the page may read every answer. What the page cannot do is to leave its
// own name out of the request: that is the `Host`. So where a token does not keep the page out, the
// server answers only if it is called by a name that no page from elsewhere can have: an IP
// address, `localhost` or a name below it, the name of this machine, or a name that the operator
// has given.
//
// Thread safety: every method from any thread.

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::app {

class HostNames {
  public:
    // These names beside IP addresses and localhost. REQUIRES: is_host_name() of each.
    explicit HostNames(const std::vector<std::string>& names);

    // The names of this machine, and these. REQUIRES: as above.
    [[nodiscard]] static HostNames of_this_machine(const std::vector<std::string>& configured);

    // Whether `authority`, as a Host header has it (`box`, `Box.example.org.:8080`, `[::1]:8080`),
    // calls this server, whatever the port.
    [[nodiscard]] bool includes(std::string_view authority) const;

  private:
    std::vector<std::string> names_;  // in lower case, without a dot at the end
};

// Whether a text can be a host name; a port is no part of it.
[[nodiscard]] bool is_host_name(std::string_view text);

// What a machine knows of its own name.
struct MachineFacts {
    std::string_view host_name;
    std::string_view hosts;  // the text of /etc/hosts
};

// The names of that machine: its host name, the same without its domain, and the same with the
// domain that /etc/hosts has for it.
[[nodiscard]] std::vector<std::string> machine_names(const MachineFacts& facts);

}  // namespace holdfast::app
