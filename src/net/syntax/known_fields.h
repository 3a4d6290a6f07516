#pragma once

// KnownFields: the header fields that a connection has sent before.
//
// Nearly every client sends the same fields with each request of a kind, to the last byte. So they
// are read once, remembered, and compared from then on. The result is the same, because what the
// fields mean depends on nothing but their bytes. (In HTTP/1.0 some mean something else. Requests of
// HTTP/1.0 are always read.)
//
// Two kinds are remembered, because many clients have two in turn: a request with a body and one
// without. The memory, some 500 bytes, is allocated with the second request of a connection. Where
// there are more kinds, as from a proxy, they replace one another now and then, so that remembering
// costs little where it is no use.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/syntax/request_head.h"

namespace holdfast::net {

class KnownFields {
  public:
    // Takes known fields off the front of `text`, with the empty line behind them, and writes them
    // into the head; false if it does not begin with any. Fields may be secret. So the time that
    // this takes does not tell how much of them is right.
    [[nodiscard]] bool take(std::string_view& text, RequestHead& head);

    // Tells of the fields of a head that had to be read. `text` has all of them, and the empty line.
    void note(std::string_view text, const RequestHead& head);

  private:
    struct Known {
        std::string text;  // empty: none
        std::vector<HttpFields::Places> places;
        FieldMeaning meaning;
    };

    static constexpr std::size_t text_bytes_max = 1024;

    std::unique_ptr<std::array<Known, 2>> known_;
    std::uint8_t last_ = 1;              // which one was used last
    std::uint8_t until_remembered_ = 2;  // so many times other fields have to be read
};

}  // namespace holdfast::net
