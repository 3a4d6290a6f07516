#include "net/syntax/chunked_body.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace holdfast::net {
namespace {

using ChunkOutcome = ChunkedBody::Outcome;

constexpr ChunkedBody::Limits chunk_limits{.body_bytes_max = 64, .line_bytes_max = 40};

struct ChunkReading {
    ChunkOutcome outcome = ChunkOutcome::need_more;
    std::string body = {};
    std::string rest = {};  // the input behind the body
    const HttpFault* fault = nullptr;
};

// Reads the text, of which `step` bytes more arrive each time.
ChunkReading read_chunks(std::string_view text, std::size_t step) {
    ChunkedBody chunked;
    ChunkReading reading;
    std::string held;
    while (reading.outcome == ChunkOutcome::need_more) {
        if (text.empty()) break;
        held += text.substr(0, step);
        text.remove_prefix(std::min(step, text.size()));
        held.shrink_to_fit();
        std::string_view input = held;
        do {
            reading.outcome = chunked.read(input, chunk_limits);
            if (reading.outcome == ChunkOutcome::piece) reading.body += chunked.piece();
        } while (reading.outcome == ChunkOutcome::piece);
        held = std::string(input);
    }
    reading.rest = held + std::string(text);
    if (reading.outcome == ChunkOutcome::refused) reading.fault = &chunked.fault();
    return reading;
}

TEST(ChunkedBody, IsPutTogether) {
    struct Row {
        std::string_view text, body;
    };
    const Row rows[] = {
        {"0\r\n\r\n", ""},
        {"000\r\n\r\n", ""},
        {"5\r\nhello\r\n0\r\n\r\n", "hello"},
        {"5\r\nhello\r\n06\r\n world\r\n0\r\n\r\n", "hello world"},
        {"a\r\n0123456789\r\nA\r\n\r\n\r\n\r\n\r\n\r\n\r\n0\r\n\r\n",
         "0123456789\r\n\r\n\r\n\r\n\r\n"},
        {"1;name\r\nx\r\n0;a;b=c;d=\"e;\\\"f\"\r\n\r\n", "x"},
        {"1 ; name = value ; n\r\nx\r\n0\r\n\r\n", "x"},
        {"1\t;\tname=\"\"\r\nx\r\n0\r\n\r\n", "x"},
        {"1\r\nx\r\n0\r\nX-Trailer: a\r\nX-Second:\r\n\r\n", "x"},
        {"0000000000000000000000000000001\r\nx\r\n0\r\n\r\n", "x"},
    };
    for (const Row& row : rows) {
        for (std::size_t step = 1; step <= row.text.size(); ++step) {
            const ChunkReading reading = read_chunks(row.text, step);
            ASSERT_EQ(reading.outcome, ChunkOutcome::whole) << row.text << " by " << step;
            EXPECT_EQ(reading.body, row.body) << row.text;
            EXPECT_EQ(reading.rest, "");
        }
    }
}

TEST(ChunkedBody, EndsBeforeTheNextRequest) {
    const ChunkReading reading = read_chunks("1\r\nx\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n", 1000);
    EXPECT_EQ(reading.outcome, ChunkOutcome::whole);
    EXPECT_EQ(reading.rest, "GET / HTTP/1.1\r\n\r\n");
}

TEST(ChunkedBody, NeedsMoreUntilItsLastByte) {
    const std::string_view whole = "2;a=b\r\nxy\r\n1\r\nz\r\n0\r\nX: y\r\n\r\n";
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
        EXPECT_EQ(read_chunks(whole.substr(0, bytes), 100).outcome, ChunkOutcome::need_more)
            << bytes;
    }
}

TEST(ChunkedBody, IsRefusedIfItIsMalformed) {
    using std::string_view_literals::operator""sv;
    const std::string_view rows[] = {
        "\r\n\r\n",
        "x\r\n",
        "-1\r\n",
        "+1\r\n",
        "0x1\r\n",
        " 1\r\nx\r\n",
        "1 \r\nx\r\n",
        "1 2\r\n",
        "1\nx\n0\n\n\r\n",
        "1\r1\r\n",
        "1\rx\r\n",
        "0\rx",
        "1;a\rx",
        "10000000000000000\r\n",
        "1;\r\n",
        "1;;a\r\n",
        "1;=a\r\n",
        "1;a=\r\n",
        "1;a=\"b\r\n",
        "1;a=\"b\"c\r\n",
        "1;a=b \r\n",
        "1;a b\r\n",
        "1;a=\0\r\n"sv,
        "1;a=\"\n\"\r\n",
        "1\r\nxy\r\n",
        "1\r\nx\n0\r\n\r\n",
        "1\r\nx\r0\r\n\r\n",
        "1\r\nx0\r\n\r\n",
        "0\r\nno colon\r\n\r\n",
        "0\r\nA : b\r\n\r\n",
        "0\r\nA: b\r\n c\r\n\r\n",
        "0\r\nA: b\nC: d\r\n\r\n",
        "0\r\n\rx",
        "0\r\nContent-Length: 1\r\n\r\n",
        "0\r\nTransfer-Encoding: chunked\r\n\r\n",
        "0\r\nHost: a\r\n\r\n",
        "0\r\nConnection: close\r\n\r\n",
    };
    for (const std::string_view text : rows) {
        for (std::size_t step = 1; step <= text.size(); ++step) {
            const ChunkReading reading = read_chunks(text, step);
            ASSERT_EQ(reading.outcome, ChunkOutcome::refused) << text << " by " << step;
            EXPECT_EQ(reading.fault, &faults::bad_chunk) << text;
        }
    }
}

TEST(ChunkedBody, IsRefusedBeyondItsLimits) {
    const std::string piece = "20\r\n" + std::string(32, 'x') + "\r\n";
    EXPECT_EQ(read_chunks(piece + piece + "0\r\n\r\n", 1).outcome, ChunkOutcome::whole);
    EXPECT_EQ(read_chunks(piece + piece + "1\r\n", 1).fault, &faults::body_too_big);
    EXPECT_EQ(read_chunks("ffffffffffffffff\r\n", 1).fault, &faults::body_too_big);
    const std::string long_text(50, 'x');
    EXPECT_EQ(read_chunks("1;" + long_text, 100).fault, &faults::bad_chunk);
    EXPECT_EQ(read_chunks("1;" + long_text, 1).fault, &faults::bad_chunk);
    EXPECT_EQ(read_chunks("1;" + long_text + "\r\nx\r\n", 100).fault, &faults::bad_chunk);
    EXPECT_EQ(read_chunks("0\r\nA: " + long_text, 100).fault, &faults::bad_chunk);
    std::string trailer = "0\r\n";
    for (int i = 0; i < 10; ++i) trailer += "A: b\r\n";
    EXPECT_EQ(read_chunks(trailer, 1).fault, &faults::bad_chunk);
}

}  // namespace
}  // namespace holdfast::net
