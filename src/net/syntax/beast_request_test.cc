// Random requests, good and bad, as HttpParser and Boost.Beast understand them. Nothing that Beast
// refuses may pass, and what passes must be understood alike; what only HttpParser refuses is listed
// in beast_request.h.

#include "net/syntax/beast_request.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <span>

namespace holdfast::net {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::array methods = {"GET"sv, "POST"sv, "HEAD"sv, "M-SEARCH"sv, "G@T"sv, ""sv};
constexpr std::array targets = {
    "/"sv, "/lock?client=a&ttl=5s"sv, "http://a/b"sv, "*"sv, "/\xc3\xbc"sv, "/a b"sv, "/\x7f"sv,
    ""sv};
constexpr std::array versions = {"HTTP/1.1"sv, "HTTP/1.1"sv, "HTTP/1.1"sv, "HTTP/1.0"sv,
                                 "HTTP/1.0"sv, "HTTP/2.0"sv, "HTTP/1"sv};
constexpr std::array line_ends = {"\r\n"sv, "\r\n"sv, "\r\n"sv,  "\r\n"sv,  "\r\n"sv, "\r\n"sv,
                                  "\r\n"sv, "\r\n"sv, "\r\n"sv,  "\r\n"sv,  "\r\n"sv, "\r\n"sv,
                                  "\n"sv,   "\r"sv,   "\r\n "sv, "\r\r\n"sv};
constexpr std::array fields = {"Host: a"sv,
                               "host:b:80"sv,
                               "X-A: some text"sv,
                               "X-A:\ta\tb\t"sv,
                               "X-B:"sv,
                               "User-Agent: curl/7.88.1 (a; b)"sv,
                               "Accept: */*"sv,
                               "Content-Length: 5"sv,
                               "Content-Length: 5"sv,
                               "Content-Length: 0"sv,
                               "Content-Length: 5, 5"sv,
                               "content-length: 05"sv,
                               "Content-Length : 5"sv,
                               "Content-Length: +5"sv,
                               "Transfer-Encoding: chunked"sv,
                               "Transfer-Encoding: chunked"sv,
                               "transfer-encoding:CHUNKED"sv,
                               "Transfer-Encoding: gzip, chunked"sv,
                               "Connection: close"sv,
                               "Connection: keep-alive"sv,
                               "connection: a, Close ,b"sv,
                               "Connection: a b"sv,
                               "Proxy-Connection: close"sv,
                               "Expect: 100-continue"sv,
                               "Expect: more"sv,
                               "no colon"sv,
                               ": no name"sv,
                               "X-\x01: y"sv,
                               "X: \x80\xff"sv};
constexpr std::array chunks = {"5\r\nhello\r\n"sv,
                               "05;a=b\r\nhello\r\n"sv,
                               "1 ; a ; b = \"c\\\"\"\r\nx\r\n"sv,
                               "A\r\n0123456789\r\n"sv,
                               "2\r\n\r\n\r\n"sv,
                               "1\r\nxy\r\n"sv,
                               "5 \r\nhello\r\n"sv,
                               "g\r\n"sv};
constexpr std::array last_chunks = {"0\r\n\r\n"sv,
                                    "0\r\n\r\n"sv,
                                    "000;a\r\n\r\n"sv,
                                    "0\r\nX: y\r\n\r\n"sv,
                                    "0\r\nContent-Length: 1\r\n\r\n"sv,
                                    "0\r\nX: y\r\n z\r\n\r\n"sv,
                                    "0\r\n\n"sv};

class Requests {
  public:
    std::string make() {
        std::string text(pick(methods));
        text.append(" ").append(pick(targets)).append(" ").append(pick(versions));
        text += pick(line_ends);
        bool is_chunked = false;
        for (std::size_t left = below(6); left > 0; --left) {
            const auto field = pick(fields);
            is_chunked |= field.ends_with("hunked") || field.ends_with("HUNKED");
            text.append(field).append(pick(line_ends));
        }
        text += "\r\n";
        if (is_chunked && below(8) > 0) {
            for (std::size_t left = below(4); left > 0; --left) text += pick(chunks);
            text += pick(last_chunks);
        } else {
            text += "hello";
        }
        text += "GET /next";
        damage(text);
        return text;
    }

  private:
    std::size_t below(std::size_t limit) { return random_() % limit; }

    std::string_view pick(std::span<const std::string_view> choices) {
        return choices[below(choices.size())];
    }

    void damage(std::string& text) {
        if (below(2) == 0) return;
        constexpr std::string_view often = "\r\n \t:,;\"\\0123456789aA\0\x7f"sv;
        const std::size_t at = below(text.size());
        switch (below(4)) {
            case 0: text[at] = static_cast<char>(below(256)); break;
            case 1: text[at] = often[below(often.size())]; break;
            case 2: text.insert(at, 1, often[below(often.size())]); break;
            default: text.erase(at, 1 + below(3)); break;
        }
    }

    std::mt19937 random_{20261116};
};

TEST(BeastRequest, UnderstandsWhatHttpParserDoes) {
    Requests requests;
    const HttpLimits limits;
    std::size_t accepted = 0, stricter = 0;
    for (int round = 0; round < 100'000; ++round) {
        const std::string text = requests.make();
        const auto difference = compare_with_beast(text, limits);
        ASSERT_FALSE(difference) << *difference << "\n" << text;
        HttpParser parser(limits);
        const bool is_accepted = parser.parse(text) == HttpParser::Outcome::complete;
        accepted += is_accepted ? 1 : 0;
        stricter += !is_accepted && BeastRequest(text).is_whole ? 1 : 0;
    }
    EXPECT_GT(accepted, 4'000U);
    EXPECT_GT(stricter, 500U);
}

TEST(BeastRequest, AcceptsWhatHttpParserRefusesOnPurpose) {
    const HttpLimits limits;
    for (const auto* text : {
             "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
             "POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\nx",
             "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
             "GET / HTTP/1.1\r\nA:\r\n b\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
             "GET / HTTP/1.1\r\nExpect: more\r\n\r\n",
             "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
             "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
             "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nHost: a\r\n\r\n",
             "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n c\r\n\r\n",
             "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0;a=\"\x01\"\r\n\r\n",
         }) {
        HttpParser parser(limits);
        EXPECT_EQ(parser.parse(text), HttpParser::Outcome::refused) << text;
        EXPECT_TRUE(BeastRequest(text).is_whole) << text;
        EXPECT_FALSE(compare_with_beast(text, limits)) << text;
    }
}

}  // namespace
}  // namespace holdfast::net
