#pragma once

// Member: where one member of etcd is reached.

#include <string>

namespace holdfast::etcd {

struct Member {
    std::string host;  // a name or an IP address, IPv6 without brackets
    std::string port = "2379";

    // HOST:PORT, IPv6 in brackets.
    [[nodiscard]] std::string to_text() const {
        const bool is_v6 = host.find(':') != std::string::npos;
        return (is_v6 ? "[" + host + "]" : host) + ":" + port;
    }

    friend bool operator==(const Member&, const Member&) = default;
};

}  // namespace holdfast::etcd
