#pragma once

#include <atomic>
#include <string>

namespace holdfast::net {

// Peer: the client of a connection that came through another node of the cluster.
//
// The connection of the client ends at the other node. If the connection between the nodes ends, the
// client may still be at work. So whoever receives for this node sets `has_left` when the other
// node says that the client itself has stopped sending or has gone, and before it ends the
// connection here.
//
// Thread safety: `has_left` from any thread; the rest does not change.
struct Peer {
    std::string address;  // of the client, as text
    std::string node;     // that passes the connection on
    std::atomic<bool> has_left = false;
};

}  // namespace holdfast::net
