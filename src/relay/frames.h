#pragma once

// Frames: how the bytes of a client's connection travel between two nodes.
//
// When a node is killed, its kernel closes its connections as politely as if the node had finished.
// So the end of a connection between nodes says nothing about the client. What the client itself has
// done is said in frames:
//
//     frame   meaning                                            may follow
//     data    bytes that the client, or the door, has sent       data, end, gone
//     end     no more bytes will come this way                   gone
//     gone    the sender's connection is closed in both ways     nothing
//
// A connection between nodes that ends without `gone` was lost.
//
// A frame is four bytes, the kind and the length (big endian), and then the bytes. Only `data` has
// bytes, at least one and at most `frame_bytes_max`. Everything else is a fault.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::relay {

inline constexpr std::size_t frame_header_bytes = 4;
inline constexpr std::size_t frame_bytes_max = std::size_t{64} * 1024;

// Appends the bytes in as many frames as needed; none for no bytes.
void append_data(std::string& out, std::string_view bytes);
void append_end(std::string& out);
void append_gone(std::string& out);

// FrameReader: takes a stream of frames apart, however it is cut. It stores no bytes: those of a long
// frame are passed on as they come.
class FrameReader {
  public:
    enum class Kind : std::uint8_t { none, data, end, gone, fault };
    struct Piece {
        Kind kind = Kind::none;
        std::string_view bytes = {};  // of data: part of `input`, never empty
    };

    // Removes the next piece from the front of `input`. `none`: more input is needed; at most three
    // bytes are left in `input`, to be offered again with more behind them. After a fault there are
    // only faults.
    [[nodiscard]] Piece next(std::string_view& input);

    // Whether the front of the input is data, as far as is known.
    [[nodiscard]] bool is_at_data(std::string_view input) const;

  private:
    enum class State : std::uint8_t { flowing, ended, gone, broken };

    Piece take_data(std::string_view& input);
    Piece begin_frame(std::uint8_t kind, std::size_t size);

    State state_ = State::flowing;
    std::size_t data_left_ = 0;  // of the frame that has begun
};

}  // namespace holdfast::relay
