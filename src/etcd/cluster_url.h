#pragma once

// ClusterUrl: which etcd a cluster uses, and where in it, as people write it.
//
//     etcd://h1:2379,h2:2379,h3:2379/holdfast          plain
//     etcds://h1,h2,h3/holdfast                        TLS; the port is 2379 if there is none
//     https://h1:2379,https://h2:2379/holdfast         the endpoints as etcd itself names them
//
// The path is the prefix of all keys, "holdfast" if there is none.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast::etcd {

// Member: where one member of etcd is reached.
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

struct ClusterUrl {
    bool is_tls = false;
    std::vector<Member> members;  // at least one
    std::string prefix;           // without a slash at its ends

    // The error names the fault.
    [[nodiscard]] static base::Result<ClusterUrl> parse(std::string_view text);

    // The inverse, in the first or second form.
    [[nodiscard]] std::string to_text() const;
};

}  // namespace holdfast::etcd
