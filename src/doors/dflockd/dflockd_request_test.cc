#include "doors/dflockd/dflockd_request.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::doors::dflockd {
namespace {

using namespace std::chrono_literals;

const std::string token = "00000000000000070000000000000009";

// The request as a short text that names whatever its verb needs, `malformed`, or why there is no
// frame.
std::string read(std::string_view input) {
    const Frame frame = read_frame(input);
    if (frame.state == Frame::State::incomplete) return "incomplete";
    if (frame.state == Frame::State::too_long) return "too long";
    if (frame.state == Frame::State::foreign) return "foreign";
    const auto request = parse_request(frame);
    if (!request) return "malformed";
    const auto lease = [&] {
        if (!request->lease) return std::string();
        return " lease " + std::to_string(request->lease->count() / 1'000'000);
    };
    const auto timeout = [&] {
        return request->timeout == core::Duration::max()
                   ? std::string(" for ever")
                   : " timeout " + std::to_string(request->timeout.count() / 1'000'000);
    };
    const bool is_semaphore = request->scope.kind == core::ScopeKind::semaphore;
    const std::string scope = " " + core::to_text(request->scope);
    const std::string limit = is_semaphore ? " limit " + std::to_string(request->limit) : "";
    const std::string shown = " token " + std::to_string(core::as_number(request->token.fence)) +
                              "/" +
                              std::to_string(static_cast<std::uint64_t>(request->token.secret));
    switch (request->verb) {
        case Verb::lock: return "lock" + scope + timeout() + limit + lease();
        case Verb::release: return "release" + scope + shown;
        case Verb::renew: return "renew" + scope + shown + lease();
        case Verb::enqueue: return "enqueue" + scope + limit + lease();
        case Verb::wait: return "wait" + scope + timeout();
        case Verb::stats: return "stats";
        case Verb::ping: return "ping";
        case Verb::auth: return "auth " + std::string(request->secret);
    }
    return "";
}

struct Row {
    std::string input;
    std::string meaning;
};

const std::vector<Row>& good_rows() {
    static const std::vector<Row> rows{
        {"l\nk\n10\n", "lock k timeout 10"},
        {"l\nk\n0\n", "lock k timeout 0"},
        {"l\nk\n10 60\n", "lock k timeout 10 lease 60"},
        {"l\r\nk\r\n10 60\r\n", "lock k timeout 10 lease 60"},
        {"l\r\r\nk\r\r\r\n10\r\r\n", "lock k timeout 10"},
        {"l\nk\n10\r60\n", "lock k timeout 10 lease 60"},
        {"l\nk\n+5 +7\n", "lock k timeout 5 lease 7"},
        {"l\nk\n-0\n", "lock k timeout 0"},
        {"sl\nk\n+1 +2 +3\n", "lock semaphore:k timeout 1 limit 2 lease 3"},
        {"l\nk\n  10\t 60 \n", "lock k timeout 10 lease 60"},
        {"l\nk\n007\n", "lock k timeout 7"},
        {"l\nk\n18446744073709551615\n", "lock k for ever"},
        {"r\nk\n" + token + "\n", "release k token 7/9"},
        {"n\nk\n" + token + "\n", "renew k token 7/9"},
        {"n\nk\n" + token + " 5\n", "renew k token 7/9 lease 5"},
        {"e\nk\n\n", "enqueue k"},
        {"e\nk\n5\n", "enqueue k lease 5"},
        {"w\nk\n5\n", "wait k timeout 5"},
        {"sl\nk\n10 3\n", "lock semaphore:k timeout 10 limit 3"},
        {"sl\nk\n10 3 60\n", "lock semaphore:k timeout 10 limit 3 lease 60"},
        {"se\nk\n3\n", "enqueue semaphore:k limit 3"},
        {"se\nk\n3 60\n", "enqueue semaphore:k limit 3 lease 60"},
        {"sw\nk\n5\n", "wait semaphore:k timeout 5"},
        {"sr\nk\n" + token + "\n", "release semaphore:k token 7/9"},
        {"sn\nk\n" + token + " 5\n", "renew semaphore:k token 7/9 lease 5"},
        {"ping\n_\n\n", "ping"},
        {"ping\n\nwhatever this is\n", "ping"},
        {"stats\na b\n\n", "stats"},
        {"auth\n_\na secret\n", "auth a secret"},
        {"auth\n_\n \ta secret \r\v \r\n", "auth a secret"},
        {"auth\n_\n \t \n", "auth "},
        {"auth\n_\n\n", "auth "},
        {"l\nB\xc3\xbcro:\xff\n1\n", "lock B\xc3\xbcro:\xff timeout 1"},
    };
    return rows;
}

TEST(DflockdRequest, IsReadWhole) {
    for (const Row& row : good_rows()) EXPECT_EQ(read(row.input), row.meaning) << row.input;
}

TEST(DflockdRequest, IsIncompleteHoweverItIsCut) {
    for (const Row& row : good_rows()) {
        for (std::size_t cut = 0; cut < row.input.size(); ++cut) {
            ASSERT_EQ(read(row.input.substr(0, cut)), "incomplete") << row.input << cut;
        }
        EXPECT_EQ(read(row.input + "l\nnext"), row.meaning) << "what follows does not matter";
        EXPECT_EQ(read_frame(row.input + "l\nnext").size, row.input.size());
    }
}

TEST(DflockdRequest, IsMalformed) {
    for (const std::string input : {"\n\n\n",
                                    "x\nk\n1\n",
                                    "L\nk\n1\n",
                                    "ll\nk\n1\n",
                                    "s\nk\n1\n",
                                    "sx\nk\n1\n",
                                    "sll\nk\n1 1\n",
                                    "PING\n_\n\n",
                                    "l\n\n1\n",
                                    "l\na b\n1\n",
                                    "l\na\tb\n1\n",
                                    "l\na\rb\n1\n",
                                    "l\n\rb\n1\n",
                                    "l\n\r\n1\n",
                                    "l\nk\n\n",
                                    "l\nk\n1.5\n",
                                    "l\nk\n-1\n",
                                    "l\nk\n++1\n",
                                    "l\nk\n+-1\n",
                                    "l\nk\n-+0\n",
                                    "l\nk\n+\n",
                                    "l\nk\n1+\n",
                                    "l\nk\n1 +0\n",
                                    "l\nk\nten\n",
                                    "l\nk\n0x10\n",
                                    "l\nk\n18446744073709551616\n",
                                    "l\nk\n1 0\n",
                                    "l\nk\n1 -1\n",
                                    "l\nk\n1 2 3\n",
                                    "l\nk\n1 2 3 4 5 6\n",
                                    "e\nk\n0\n",
                                    "e\nk\n1 2\n",
                                    "e\nk\nx\n",
                                    "w\nk\n\n",
                                    "w\nk\n1 2\n",
                                    "r\nk\n\n",
                                    "r\nk\nabc\n",
                                    "n\nk\n\n",
                                    "sl\nk\n1\n",
                                    "sl\nk\n1 0\n",
                                    "sl\nk\n1 2 0\n",
                                    "sl\nk\n1 2 3 4\n",
                                    "sl\nk\n1 4294967296\n",
                                    "se\nk\n\n",
                                    "se\nk\n0\n",
                                    "se\nk\n1 2 3\n"}) {
        EXPECT_EQ(read(input), "malformed") << input;
    }
    EXPECT_EQ(read("r\nk\n" + token + " 1\n"), "malformed");
    EXPECT_EQ(read("r\nk\n" + token + "0\n"), "malformed");
    EXPECT_EQ(read("r\nk\n0000000000000007000000000000000G\n"), "malformed");
    EXPECT_EQ(read("r\nk\n0000000000000007000000000000000A\n"), "malformed");
    EXPECT_EQ(read("n\nk\n" + token + " 0\n"), "malformed");
    EXPECT_EQ(read("n\nk\n" + token + " 1 1\n"), "malformed");
    EXPECT_EQ(read(std::string("l\n\0\n1\n", 6)), "lock " + std::string(1, '\0') + " timeout 1");
}

// The input of a browser that a web page makes send requests in a body, and of other clients that
// speak another protocol. The number says after how many bytes that is known.
TEST(DflockdRequest, WhatAnotherProtocolSendsIsForeign) {
    struct Foreign {
        std::string input;
        std::size_t known_after;
    };
    const Foreign rows[] = {
        {"POST / HTTP/1.1\r\nHost: x\r\n\r\nl\nk\n0\n", 5},
        {"GET http://127.0.0.1:6388/ HTTP/1.1\r\n", 4},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 4},
        {"Host: 127.0.0.1\r\n", 6},
        {std::string("\x16\x03\x01\x02\x00\nl\nk\n0\n", 12), 1},
        {std::string("\x00\x01\nl\nk\n0\n", 9), 1},
        {"\xc3\xbc\nk\n1\n", 1},
        {"\x7f\nk\n1\n", 1},
        {"EHLO x\r\n", 5},
        {" l\nk\n1\n", 1},
        {"l \nk\n1\n", 2},
        {"l\t\nk\n1\n", 2},
        {"l\rk\nk\n1\n", 3},
    };
    for (const Foreign& row : rows) {
        for (std::size_t cut = 0; cut <= row.input.size(); ++cut) {
            ASSERT_EQ(read(row.input.substr(0, cut)),
                      cut < row.known_after ? "incomplete" : "foreign")
                << row.input << cut;
        }
        EXPECT_EQ(read("l\nk\n1\n" + row.input), "lock k timeout 1");
    }
    EXPECT_EQ(read("!~/x:\nk\n1\n"), "malformed") << "a word, though none of dflockd's";
}

// Whatever the length of the key, its characters, and the place of the first blank in it.
TEST(DflockdRequest, AKeyWithoutABlankIsAWord) {
    const auto expect_key = [](const std::string& key, bool is_word) {
        const std::string input = "l\n" + key + "\n0\n";
        const Frame frame = read_frame(input);
        EXPECT_EQ(frame.state, Frame::State::whole);
        EXPECT_EQ(frame.is_key_word, is_word);
        EXPECT_EQ(frame.key, key);
    };
    for (std::size_t size = 1; size <= 20; ++size) {
        for (const char c : {'!', 'k', '\x7f', '\x80', '\xa0', '\xff'}) {
            std::string key(size, c);
            expect_key(key, true);
            for (const char blank : {' ', '\t', '\x01', '\0'}) {
                key[size / 2] = blank;
                expect_key(key, false);
            }
        }
    }
}

TEST(DflockdRequest, ALineMayBeAsLongAsItsLimit) {
    const std::string longest(line_bytes_max, 'k');
    EXPECT_EQ(read("l\n" + longest + "\n1\n"), "lock " + longest + " timeout 1");
    EXPECT_EQ(read("l\n" + longest), "incomplete");
    EXPECT_EQ(read("l\n" + longest + "k"), "too long") << "that is known before it ends";
    EXPECT_EQ(read("l\n" + longest + "k\n1\n"), "too long");
    EXPECT_EQ(read("l\n" + longest + "\r\n1\n"), "too long") << "the carriage return counts";
    EXPECT_EQ(read(longest + "k"), "too long");
    EXPECT_EQ(read("l\nk\n" + longest + "k"), "too long");
    const std::string secret(secret_bytes_max, 's');
    EXPECT_EQ(read("auth\n_\n" + secret + "\n"), "auth " + secret);
    EXPECT_EQ(read("auth\n_\n" + secret), "incomplete");
    EXPECT_EQ(read("auth\n_\n" + secret + "s"), "too long");
}

}  // namespace
}  // namespace holdfast::doors::dflockd
