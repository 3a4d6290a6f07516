#pragma once

// KnownFields: the header fields that a connection has sent before.
//
// Nearly every client sends the same fields with each request of a connection, to the last byte. So
// they are read once, remembered, and compared from then on. The result is the same, because what
// the fields mean depends on nothing but their bytes. (In HTTP/1.0 some mean something else. Requests
// of HTTP/1.0 are always read.)
//
// The memory is allocated with the second request of a connection. Fields of several kinds, as a proxy
// sends them, replace one another now and then, so that remembering costs little where it is no use.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/syntax/request_head.h"

namespace holdfast::net {

class KnownFields {
  public:
    // The known fields, if `text` begins with them and the empty line behind them; otherwise null.
    // Fields may be secret. So the time that this takes does not tell how much of them is right.
    [[nodiscard]] const HeaderFields* find_in(std::string_view text) const;

    // The size of the known fields, with the empty line. REQUIRES: find_in() has found them.
    [[nodiscard]] std::size_t size() const { return known_->text.size(); }

    // Tells of fields that had to be read. `text` has all of them, and the empty line.
    void note(std::string_view text, const HeaderFields& fields);

  private:
    struct Known {
        std::string text;
        HeaderFields fields;
    };

    static constexpr std::size_t text_bytes_max = 1024;
    static constexpr std::uint8_t replaced_after = 8;  // times that other fields were read

    std::unique_ptr<Known> known_;
    std::uint8_t until_remembered_ = 2;
};

}  // namespace holdfast::net
