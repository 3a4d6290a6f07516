#pragma once

// The doors with a listener of their own. Each is declared once, in the table of doors.cc; options,
// help, checks, warnings, the `listening` lines, metrics and the shutdown all follow from the table.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/serve_options.h"
#include "base/result.h"
#include "net/http/request_counts.h"
#include "net/loop/connection.h"
#include "net/sockets/endpoint.h"

namespace holdfast::app {

struct LoopParts;

// What protects a door against strangers.
enum class Guard : std::uint8_t {
    token,  // the auth token, if there is one; otherwise everybody may lock
    login,  // clients must log in
};

// How many connections may be open at a door, and the option that says so.
struct ConnectionsMax {
    std::size_t number;
    const char* option;
};

struct Door {
    const char* name;      // the option --NAME, the variable HOLDFAST_NAME, logs and metrics
    const char* tls_name;  // what the `listening` line calls it with TLS
    const char* help;
    const char* default_address;
    std::string ServeOptions::*address;  // what the option writes to
    Guard guard;
    bool is_http;  // tokens travel in headers
    // Whether a node of a cluster passes its connections on to the leader.
    bool is_shared;
    // Whether the door opens at its default address when no address is given. Null: always.
    bool (*opens_by_default)(const ServeOptions&);
    // What else the options must say for this door to open at the address. Null: nothing.
    base::Result<void> (*check_needs)(const ServeOptions&, const net::Endpoint&);
    net::ConnectionLimits (*limits)(const ServeOptions&);
    ConnectionsMax (*connections_max)(const ServeOptions&);
    // What a connection beyond that number is told before it is closed, if it is not encrypted.
    std::string (*turn_away_text)(const ConnectionsMax&);
    // The protocol of a new connection, on the loop that the parts belong to.
    std::unique_ptr<net::Protocol> (*make_protocol)(net::Channel&, LoopParts&);
    // What the loop has counted of the requests of this door. Null: the door does not speak HTTP.
    const net::RequestCounts& (*requests)(const LoopParts&) = nullptr;
};

[[nodiscard]] std::span<const Door> all_doors();

// Where a door listens by these options, as text; no_address: the door is switched off.
[[nodiscard]] std::string address_of(const Door& door, const ServeOptions& options);

// The doors that are not switched off.
[[nodiscard]] std::vector<const Door*> open_doors(const ServeOptions& options);

// Refuses addresses that cannot be read, that strangers could reach, and doors without what they
// need.
[[nodiscard]] base::Result<void> check_doors(const ServeOptions& options);

// Logs warnings about doors that others than the users can reach or listen to.
void warn_of_open_doors(const ServeOptions& options);

// How many open files the process needs for as many connections as the largest of the open doors may
// have. A number that means no limit does not count.
[[nodiscard]] std::uint64_t descriptors_needed(const ServeOptions& options);

// What a door is called where it listens: with TLS, `https` instead of `http`.
[[nodiscard]] std::string_view shown_name(const Door& door, const net::Endpoint& endpoint,
                                          bool has_tls);

}  // namespace holdfast::app
