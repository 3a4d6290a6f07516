// dflockd_fuzzer: any bytes on a dflockd connection.
//
// The first byte says how the rest is cut into pieces; whatever the pieces, the answers must be
// those to the whole, and each one line. Under AddressSanitizer and UndefinedBehaviorSanitizer.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "doors/dflockd/dflockd_answer.h"
#include "doors/dflockd/dflockd_request.h"

namespace holdfast::doors::dflockd {
namespace {

// What a connection makes of the input, as text: the requests in order, and how it ends.
class Reader {
  public:
    void feed(std::string_view bytes) {
        held_.append(bytes);
        while (!is_over_) {
            const Frame frame = read_frame(held_);
            if (frame.state == Frame::State::incomplete) break;
            if (frame.state != Frame::State::whole) {
                is_over_ = true;
                meaning_ += frame.state == Frame::State::too_long ? "too long\n" : "foreign\n";
                break;
            }
            CHECK(frame.size >= 3 && frame.size <= held_.size());
            take(frame);
            held_.erase(0, frame.size);
        }
        // A request that is not whole is never larger than its three lines may be.
        CHECK(is_over_ || held_.size() <= 2 * (line_bytes_max + 1) + secret_bytes_max);
    }
    [[nodiscard]] const std::string& meaning() const { return meaning_; }

  private:
    void take(const Frame& frame) {
        const auto request = parse_request(frame);
        if (!request) {
            meaning_ += "malformed\n";
            return;
        }
        meaning_ += std::to_string(static_cast<int>(request->verb)) + " " +
                    core::to_text(request->scope) + " " + std::to_string(request->timeout.count()) +
                    " " + std::to_string(request->limit) + " " +
                    std::to_string(request->lease.value_or(core::Duration{0}).count()) + " " +
                    std::to_string(core::as_number(request->token.fence)) + " " +
                    std::string(request->secret) + "\n";
        CHECK(request->timeout >= core::Duration::zero());
        CHECK(request->limit > 0);
        CHECK(!request->lease || *request->lease > core::Duration::zero());
    }

    std::string held_;
    std::string meaning_;
    bool is_over_ = false;
};

void run(std::string_view input) {
    if (input.empty()) return;
    const std::size_t piece = std::max<std::size_t>(1, static_cast<unsigned char>(input.front()));
    input.remove_prefix(1);
    Reader whole;
    whole.feed(input);
    Reader cut;
    for (std::string_view rest = input; !rest.empty();) {
        cut.feed(rest.substr(0, piece));
        rest.remove_prefix(std::min(piece, rest.size()));
    }
    CHECK(whole.meaning() == cut.meaning());
}

}  // namespace
}  // namespace holdfast::doors::dflockd

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    holdfast::doors::dflockd::run({reinterpret_cast<const char*>(data), size});
    return 0;
}
