// redis_fuzzer: any bytes on a Redis connection.
//
// The first byte says how the rest is cut into pieces; whatever the pieces, the commands must be
// those of the whole. Under AddressSanitizer and UndefinedBehaviorSanitizer.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "doors/redis/resp/resp_reader.h"

namespace holdfast::doors::redis {
namespace {

// What a connection makes of the input, as text: the commands in order, and how it ends.
class Reader {
  public:
    void feed(std::string_view bytes) {
        held_.append(bytes);
        while (!is_over_ && !held_.empty()) {
            const RespFrame frame = read_command(held_, command_);
            if (frame.state == RespFrame::State::incomplete) break;
            if (frame.state != RespFrame::State::whole) {
                is_over_ = true;
                meaning_ += frame.state == RespFrame::State::foreign ? "foreign" : frame.fault;
                break;
            }
            CHECK(frame.size > 0 && frame.size <= held_.size());
            CHECK(command_.words.size() <= words_max);
            for (const std::string_view word : command_.words) {
                meaning_ += std::to_string(word.size()) + ":" + std::string(word) + " ";
            }
            meaning_ += "\n";
            held_.erase(0, frame.size);
        }
        // What is not whole yet is never larger than a command may be.
        CHECK(is_over_ || held_.size() <= command_bytes_max + word_bytes_max);
    }
    [[nodiscard]] const std::string& meaning() const { return meaning_; }

  private:
    std::string held_;
    std::string meaning_;
    RespCommand command_;
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
}  // namespace holdfast::doors::redis

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    holdfast::doors::redis::run({reinterpret_cast<const char*>(data), size});
    return 0;
}
