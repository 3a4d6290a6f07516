#include "relay/frames.h"

#include <gtest/gtest.h>

namespace holdfast::relay {
namespace {

using Kind = FrameReader::Kind;

// What a reader makes of the input, given in pieces of this size: data as it is, `<end>`, `<gone>`,
// `<fault>`.
std::string read_all(std::string_view input, std::size_t piece_bytes) {
    FrameReader reader;
    std::string held;
    std::string meaning;
    while (!input.empty()) {
        held.append(input.substr(0, piece_bytes));
        input.remove_prefix(std::min(piece_bytes, input.size()));
        std::string_view rest = held;
        for (;;) {
            const auto piece = reader.next(rest);
            if (piece.kind == Kind::none) break;
            if (piece.kind == Kind::data) {
                EXPECT_FALSE(piece.bytes.empty());
                meaning.append(piece.bytes);
            }
            if (piece.kind == Kind::end) meaning += "<end>";
            if (piece.kind == Kind::gone) meaning += "<gone>";
            if (piece.kind == Kind::fault) return meaning + "<fault>";
        }
        EXPECT_LT(rest.size(), frame_header_bytes);
        held.erase(0, held.size() - rest.size());
    }
    return meaning;
}

std::string header(char kind, std::size_t size) {
    return {kind, static_cast<char>(size >> 16U), static_cast<char>(size >> 8U),
            static_cast<char>(size)};
}

TEST(Frames, AreReadAsTheyWereWrittenHoweverTheyAreCut) {
    std::string wire;
    append_data(wire, "one");
    append_data(wire, "");
    append_data(wire, " two");
    append_end(wire);
    append_gone(wire);
    for (std::size_t bytes = 1; bytes <= wire.size(); ++bytes) {
        EXPECT_EQ("one two<end><gone>", read_all(wire, bytes)) << bytes;
    }
}

TEST(Frames, HaveTheseBytes) {
    std::string wire;
    append_data(wire, "hi");
    append_end(wire);
    append_gone(wire);
    EXPECT_EQ(header(1, 2) + "hi" + header(2, 0) + header(3, 0), wire);
}

TEST(Frames, OfLongDataAreSeveral) {
    const std::string data(frame_bytes_max + 1, 'x');
    std::string wire;
    append_data(wire, data);
    EXPECT_EQ(data.size() + 2 * frame_header_bytes, wire.size());
    EXPECT_EQ(data, read_all(wire, 1000));
}

TEST(Frames, MayBeGoneWithoutAnEnd) {
    EXPECT_EQ("<gone>", read_all(header(3, 0), 4));
}

TEST(Frames, AreFaultyIfTheyMakeNoSense) {
    EXPECT_EQ("<fault>", read_all(header(0, 0), 4)) << "unknown";
    EXPECT_EQ("<fault>", read_all(header(4, 1), 4)) << "unknown";
    EXPECT_EQ("<fault>", read_all(header(1, 0), 4)) << "data without bytes";
    EXPECT_EQ("<fault>", read_all(header(1, frame_bytes_max + 1), 4)) << "too long";
    EXPECT_EQ("<fault>", read_all(header(2, 1), 4)) << "an end with bytes";
    EXPECT_EQ("<fault>", read_all(header(3, 1), 4)) << "gone with bytes";
    EXPECT_EQ("<end><fault>", read_all(header(2, 0) + header(1, 1) + "x", 4)) << "data after end";
    EXPECT_EQ("<end><fault>", read_all(header(2, 0) + header(2, 0), 4)) << "two ends";
    EXPECT_EQ("<gone><fault>", read_all(header(3, 0) + header(3, 0), 4)) << "after gone";
    EXPECT_EQ("<gone><fault>", read_all(header(3, 0) + "x", 1)) << "after gone";
}

TEST(Frames, TellWhetherDataComesNext) {
    FrameReader reader;
    std::string wire;
    append_data(wire, "abc");
    append_end(wire);
    std::string_view rest = std::string_view(wire).substr(0, 5);
    EXPECT_TRUE(reader.is_at_data(rest));
    EXPECT_EQ("a", reader.next(rest).bytes);
    EXPECT_TRUE(reader.is_at_data(rest));
    rest = std::string_view(wire).substr(5);
    EXPECT_EQ("bc", reader.next(rest).bytes);
    EXPECT_FALSE(reader.is_at_data(rest));
    EXPECT_EQ(Kind::end, reader.next(rest).kind);
}

}  // namespace
}  // namespace holdfast::relay
