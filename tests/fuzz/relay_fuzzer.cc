// relay_fuzzer: any bytes from a connection between two nodes.
//
// The first byte says what the rest is (frames or one of the messages of a preface) and how it is cut
// into pieces. Whatever the pieces, the meaning is that of the whole; nothing is stored beyond the
// header of a frame; what is read of a message is what it would be written as. Under
// AddressSanitizer and UndefinedBehaviorSanitizer.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "relay/frames.h"
#include "relay/preface.h"

namespace holdfast::relay {
namespace {

std::string meaning_of_frames(std::string_view input, std::size_t piece_bytes) {
    using Kind = FrameReader::Kind;
    FrameReader reader;
    std::string held;
    std::string meaning;
    while (!input.empty()) {
        const auto piece = input.substr(0, piece_bytes);
        input.remove_prefix(piece.size());
        held.append(piece);
        std::string_view rest = held;
        for (;;) {
            const bool is_data = reader.is_at_data(rest);
            const auto found = reader.next(rest);
            if (found.kind == Kind::none) break;
            CHECK((found.kind == Kind::data) == !found.bytes.empty());
            CHECK(is_data || found.kind != Kind::data);
            if (found.kind == Kind::data) meaning.append(found.bytes);
            if (found.kind == Kind::end) meaning += "<end>";
            if (found.kind == Kind::gone) meaning += "<gone>";
            if (found.kind == Kind::fault) return meaning + "<fault>";
        }
        CHECK(rest.size() < frame_header_bytes);
        held.erase(0, held.size() - rest.size());
    }
    return meaning;
}

// Reads a message with `read`: a prefix of a whole message is incomplete, and more bytes behind it
// change nothing.
template <class Read>
void check_message(std::string_view input, Read read) {
    const auto found = read(input);
    using State = decltype(found.state);
    CHECK((found.state == State::whole) == (found.size > 0));
    CHECK(found.size <= input.size());
    if (found.state != State::whole) return;
    CHECK(read(input.substr(0, found.size)).size == found.size);
    for (std::size_t size = 0; size < found.size; ++size) {
        CHECK(read(input.substr(0, size)).state == State::incomplete);
    }
}

void check_preface(std::string_view input) {
    check_message(input, read_preface);
    const auto found = read_preface(input);
    if (found.size == 0) return;
    const std::string challenge(challenge_bytes, 'c');
    CHECK(!is_authentic(found.value, challenge, "a secret that no fuzzer guesses"));
    std::string again;
    append_preface(again, found.value.preface, challenge, "secret");
    CHECK(again.size() == found.size);
    const auto body = input.substr(0, found.size - 32);
    CHECK(std::string_view(again).substr(0, body.size()) == body);
    CHECK(is_authentic(read_preface(again).value, challenge, "secret"));
}

}  // namespace
}  // namespace holdfast::relay

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace holdfast::relay;
    if (size == 0) return 0;
    const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::size_t piece_bytes = std::max<std::size_t>(1, data[0] >> 2U);
    switch (data[0] & 3U) {
        case 0:
            CHECK(meaning_of_frames(input, piece_bytes) ==
                  meaning_of_frames(input, std::max<std::size_t>(1, input.size())));
            break;
        case 1: check_preface(input); break;
        case 2: check_message(input, read_challenge); break;
        default: check_message(input, read_answer); break;
    }
    return 0;
}
