#pragma once

// ChunkedBody: reads a body with `Transfer-Encoding: chunked`, in however many pieces it arrives.
//
//     State      event                                   next
//     size       the line `1f;name=value` of a chunk     data
//     size       the line of the last chunk, `0`         trailer
//     data       all bytes of the chunk                  data_end
//     data_end   CR LF                                   size
//     trailer    a field                                 trailer
//     trailer    an empty line                           whole
//
// Extensions of chunks and fields of the trailer are checked, and nothing uses them. A trailer must
// not have a field that says how a request is to be read: it would come too late.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "net/syntax/http_fault.h"

namespace holdfast::net {

class ChunkedBody {
  public:
    enum class Outcome : std::uint8_t { need_more, piece, whole, refused };

    struct Limits {
        std::uint64_t body_bytes_max;  // of all chunks together, without their lines
        std::size_t line_bytes_max;    // of the line of a chunk, and of the trailer
    };

    // Reads on from `input`, and takes off it what was understood. Stops after each piece of the
    // body, which is then in piece(). REQUIRES: the last call, if any, returned need_more or piece.
    [[nodiscard]] Outcome read(std::string_view& input, const Limits& limits);

    // After `piece`: a part of the input, not empty.
    [[nodiscard]] std::string_view piece() const { return piece_; }
    // After `refused`.
    [[nodiscard]] const HttpFault& fault() const { return *fault_; }

  private:
    enum class State : std::uint8_t { size, data, data_end, trailer };

    Outcome read_size(std::string_view& input, const Limits& limits);
    Outcome read_data(std::string_view& input);
    Outcome read_data_end(std::string_view& input);
    Outcome read_trailer(std::string_view& input, const Limits& limits);
    Outcome refuse(const HttpFault& fault);

    State state_ = State::size;
    std::uint64_t chunk_bytes_left_ = 0;
    std::uint64_t body_bytes_ = 0;    // of all chunks so far
    std::size_t trailer_bytes_ = 0;   // of its fields so far
    std::size_t searched_bytes_ = 0;  // of the input: the line does not end there
    std::string_view piece_;
    const HttpFault* fault_ = nullptr;
};

}  // namespace holdfast::net
