#pragma once

// Splice: joins two connections of one node. One carries plain bytes (raw): that of a client, or a
// local one to a door. The other carries the same bytes in frames between two nodes (framed).
//
//     event                                       what follows
//     raw: bytes                                  `data` on framed
//     raw: the other side has stopped sending     `end` on framed
//     raw: closed                                 `gone` on framed, which then closes
//     framed: data                                bytes on raw
//     framed: end                                 raw is told that nothing more will come
//     framed: gone                                both close
//     framed: closed without `gone`, or a fault   the other node was lost: both close
//
// Back pressure: a side whose partner has more unsent output than its limit is paused, until all of
// that output is sent. So a splice stores at most the output limit and two reads for each direction.
// `end` and `gone` do not wait for room. They do wait behind data that has none: if a client has sent
// more than all buffers hold while it waits for a lock, its end is noticed when the wait is over.
//
// A Splice on the leader knows the Peer of the connection. It sets Peer::has_left upon `end` and
// `gone`, and cuts the raw connection: the door must know at once. On the other node, the client
// first gets what has come for it.
//
// Thread safety: both connections live on one loop, and so does the splice.
// Lifetime: shared by the protocols of both connections.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "net/loop/arrival.h"
#include "net/loop/channel.h"
#include "net/loop/peer.h"
#include "relay/frames.h"

namespace holdfast::relay {

// How many bytes have passed, in all splices of a relay or of a leader.
struct Traffic {
    std::atomic<std::uint64_t> to_framed = 0;
    std::atomic<std::uint64_t> to_raw = 0;
    std::atomic<std::uint64_t> lost = 0;  // connections whose other node was lost
};

class Splice {
  public:
    // `peer` is null except on the leader. The traffic outlives the splice.
    Splice(net::Channel& framed, Traffic& traffic, std::shared_ptr<net::Peer> peer)
        : framed_(&framed), traffic_(traffic), peer_(std::move(peer)) {}

    // The protocol of the raw connection. `seat` is kept as long as that lives.
    [[nodiscard]] static std::unique_ptr<net::Protocol> make_raw_side(
        std::shared_ptr<Splice> splice, net::Channel& raw, std::optional<net::Arrival> seat);

    // For the protocol of the framed connection, which passes on what it is told.
    [[nodiscard]] std::size_t on_framed_input(std::string_view input);
    void on_framed_end_of_data();
    void on_framed_output_sent();
    void on_framed_closed();

    // Both connections close at once. Nobody is told that the client has left.
    void cut();

  private:
    class RawSide;

    [[nodiscard]] std::size_t on_raw_input(std::string_view input);
    void on_raw_end_of_data();
    void on_raw_output_sent();
    void on_raw_closed();
    [[nodiscard]] bool is_raw_idle() const { return has_raw_ended_ && has_framed_ended_; }

    void take(const FrameReader::Piece& piece);
    void lose();
    void close_raw();

    net::Channel* raw_ = nullptr;  // null: not there yet, or closed
    net::Channel* framed_;         // null: closed
    Traffic& traffic_;
    std::shared_ptr<net::Peer> peer_;
    FrameReader reader_;
    bool is_raw_paused_ = false;
    bool is_framed_paused_ = false;
    bool has_raw_ended_ = false;     // `end` was sent
    bool has_framed_ended_ = false;  // `end` was received
    bool is_over_ = false;           // `gone` was sent or received, or the other node was lost
};

}  // namespace holdfast::relay
