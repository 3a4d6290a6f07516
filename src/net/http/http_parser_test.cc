#include "net/http/http_parser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "net/http/http_protocol.h"
#include "net/loop/test_channel.h"

namespace holdfast::net {
namespace {

// Answers with the parts of the request that it has found.
class Mirror final : public HttpHandler {
  public:
    void handle(const HttpRequest& request, HttpReply& reply) override {
        reply.send(200, "text/plain",
                   fmt::format("{} [{}] [{}] [{}] [{}]", request.method, request.path,
                               request.query, request.header("x-a").value_or("-"), request.body));
    }
};

struct Case {
    const char* request;
    const char* understood;  // in the body of a 200
};

const std::vector<Case> cases = {
    {"GET / HTTP/1.1\r\n\r\n", "GET [/] [] [-] []"},
    {"GET /a%20b?c=d&e HTTP/1.1\r\nHost: h\r\n\r\n", "GET [/a%20b] [c=d&e] [-] []"},
    {"GET /?a?b HTTP/1.1\r\n\r\n", "GET [/] [a?b] [-] []"},
    {"GET http://host:1/p?q HTTP/1.1\r\n\r\n", "GET [/p] [q] [-] []"},
    {"GET http://host HTTP/1.1\r\n\r\n", "GET [/] [] [-] []"},
    {"GET https://host:1/p?q HTTP/1.1\r\n\r\n", "GET [/p] [q] [-] []"},
    {"GET HTTP://host/p HTTP/1.1\r\n\r\n", "GET [/p] [] [-] []"},
    {"GET HttpS://host HTTP/1.1\r\n\r\n", "GET [/] [] [-] []"},
    {"GET http://host?a/b HTTP/1.1\r\n\r\n", "GET [/] [a/b] [-] []"},
    {"GET ftp://host/p HTTP/1.1\r\n\r\n", "GET [ftp://host/p] [] [-] []"},
    {"GET /http://host/p HTTP/1.1\r\n\r\n", "GET [/http://host/p] [] [-] []"},
    {"OPTIONS * HTTP/1.1\r\n\r\n", "OPTIONS [*] [] [-] []"},
    {"BREW /pot HTTP/1.1\r\n\r\n", "BREW [/pot] [] [-] []"},
    {"GET / HTTP/1.1\r\nX-A:  v w \r\n\r\n", "GET [/] [] [v w] []"},
    {"GET / HTTP/1.1\r\nx-A: 1\r\nX-a: 2\r\n\r\n", "GET [/] [] [1] []"},
    {"GET / HTTP/1.1\r\nX-A:\r\n\r\n", "GET [/] [] [] []"},
    {"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", "POST [/] [] [-] [hello]"},
    {"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "POST [/] [] [-] []"},
    {"POST / HTTP/1.1\r\nX-A: z\r\nContent-Length: 4\r\n\r\n\r\n\r\n",
     "POST [/] [] [z] [\r\n\r\n]"},
    {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "POST [/] [] [-] []"},
    {"POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\nX-A: 1\r\n\r\n"
     "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nX-Trailer: 1\r\n\r\n",
     "POST [/] [] [1] [hello world]"},
    {"\r\n\r\nGET /after-blank-lines HTTP/1.1\r\n\r\n", "GET [/after-blank-lines] [] [-] []"},
    {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET [/] [] [-] []"},
};

// Feeds the pieces to a new connection and returns what it sent.
std::string converse(const std::vector<std::string_view>& pieces) {
    Mirror mirror;
    const HttpLimits limits;
    TestChannel channel;
    HttpProtocol protocol(channel, mirror, limits);
    for (const auto piece : pieces) channel.feed(protocol, piece);
    EXPECT_TRUE(channel.held.empty());
    EXPECT_TRUE(protocol.idle());
    return channel.take();
}

TEST(HttpParser, UnderstandsEveryRequestHoweverItIsCut) {
    for (const auto& [text, understood] : cases) {
        const std::string_view request(text);
        const auto whole = converse({request});
        EXPECT_TRUE(whole.starts_with("HTTP/1.1 200 OK\r\n")) << whole;
        EXPECT_TRUE(whole.ends_with(fmt::format("\r\n\r\n{}", understood))) << whole;

        std::vector<std::string_view> bytes;
        for (std::size_t i = 0; i < request.size(); ++i) bytes.push_back(request.substr(i, 1));
        EXPECT_EQ(whole, converse(bytes)) << request;
        for (std::size_t cut = 1; cut < request.size(); ++cut) {
            EXPECT_EQ(whole, converse({request.substr(0, cut), request.substr(cut)})) << request;
        }
    }
}

TEST(HttpParser, UnderstandsAllOfThemInARowHoweverTheyAreCut) {
    std::string all;
    std::string answers;
    for (const auto& [request, understood] : cases) {
        all += request;
        answers += converse({request});
    }
    EXPECT_EQ(answers, converse({all}));
    const std::string_view view(all);
    for (std::size_t cut = 1; cut < view.size(); ++cut) {
        EXPECT_EQ(answers, converse({view.substr(0, cut), view.substr(cut)})) << cut;
    }
}

TEST(HttpParser, SurvivesGarbage) {
    std::mt19937 random(20240229);
    const auto below = [&](std::size_t n) { return random() % n; };
    Mirror mirror;
    const HttpLimits limits{.header_bytes_max = 512, .body_bytes_max = 512};
    for (int round = 0; round < 20'000; ++round) {
        // Take a good request and damage it, so that the deep parts are reached too.
        std::string input = cases[below(cases.size())].request;
        input += cases[below(cases.size())].request;
        for (auto damage = below(4); damage > 0; --damage) {
            const auto at = below(input.size());
            switch (below(4)) {
                case 0: input[at] = static_cast<char>(below(256)); break;
                case 1: input.erase(at, 1 + below(8)); break;
                case 2: input.insert(at, 1 + below(600), static_cast<char>(below(256))); break;
                default: input.insert(at, input.substr(below(input.size()), below(32)));
            }
            if (input.empty()) input.push_back('G');
        }
        TestChannel channel;
        HttpProtocol protocol(channel, mirror, limits);
        for (std::string_view rest = input; !rest.empty();) {
            const auto piece = rest.substr(0, 1 + below(40));
            channel.feed(protocol, piece);
            rest.remove_prefix(piece.size());
        }
        protocol.on_closed();
    }
}

TEST(HttpParser, SurvivesNoise) {
    std::mt19937 random(7);
    Mirror mirror;
    const HttpLimits limits;
    for (int round = 0; round < 2'000; ++round) {
        std::string input(random() % 300, '\0');
        for (auto& byte : input) byte = static_cast<char>(random());
        TestChannel channel;
        HttpProtocol protocol(channel, mirror, limits);
        channel.feed(protocol, input);
    }
}

}  // namespace
}  // namespace holdfast::net
