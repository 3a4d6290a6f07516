// What HttpProtocol refuses by itself: the status, a reason in JSON, and a closed connection.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "net/http/http_protocol.h"
#include "net/loop/test_channel.h"

namespace holdfast::net {
namespace {

class Counter final : public HttpHandler {
  public:
    void handle(const HttpRequest&, HttpReply& reply) override {
        ++requests;
        reply.send(200, "text/plain", "ok");
    }
    int requests = 0;
};

class HttpError : public testing::Test {
  protected:
    // The status line with which the request is refused, whole and byte by byte.
    std::string refusal(std::string_view request) {
        const auto whole = converse(request, request.size());
        EXPECT_EQ(whole, converse(request, 1));
        EXPECT_NE(std::string::npos, whole.find("Connection: close\r\n")) << whole;
        EXPECT_NE(std::string::npos, whole.find("\r\n\r\n{\"error\":\"")) << whole;
        EXPECT_TRUE(whole.ends_with("\"}\n")) << whole;
        EXPECT_EQ(0, handler_.requests);
        return whole.substr(0, whole.find("\r\n"));
    }

    std::string converse(std::string_view request, std::size_t step) {
        TestChannel channel;
        HttpProtocol protocol(channel, handler_, limits_);
        for (; !request.empty(); request.remove_prefix(std::min(step, request.size()))) {
            channel.feed(protocol, request.substr(0, step));
        }
        EXPECT_TRUE(channel.closed);
        return channel.take();
    }

    Counter handler_;
    HttpLimits limits_{.header_bytes_max = 256, .body_bytes_max = 64};
};

TEST_F(HttpError, Is400ForWhatIsNotHttp) {
    for (const auto* request : {
             "hello world, this is not HTTP\r\n\r\n",
             "GET  / HTTP/1.1\r\n\r\n",
             "GET / HTTP/1.1 \r\n\r\n",
             "GET / FTP/1.0\r\n\r\n",
             "GET /\r\n\r\n",
             "G@T / HTTP/1.1\r\n\r\n",
             "GET / HTTP/1.1\r\nno colon\r\n\r\n",
             "GET / HTTP/1.1\r\nspace : a\r\n\r\n",
             "GET / HTTP/1.1\r\nA: \x01\r\n\r\n",
             "GET / HTTP/1.1\r\nA: folded\r\n over lines\r\n\r\n",
             "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
             "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
             "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
             "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
             "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
             "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
             "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n\r\n",
             "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
         }) {
        EXPECT_EQ("HTTP/1.1 400 Bad Request", refusal(request)) << request;
    }
}

TEST_F(HttpError, Is400ForMoreThanOneHost) {
    for (const auto* request : {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
                                "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nhOST:\r\n\r\n",
                                "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"}) {
        EXPECT_EQ("HTTP/1.1 400 Bad Request", refusal(request)) << request;
    }
}

TEST_F(HttpError, Is400ForARequestWithoutAHostWhereItIsNeeded) {
    limits_.needs_host = true;
    EXPECT_EQ("HTTP/1.1 400 Bad Request", refusal("GET / HTTP/1.1\r\n\r\n"));
    EXPECT_EQ("HTTP/1.1 400 Bad Request", refusal("GET http://a/ HTTP/1.1\r\nX: Host\r\n\r\n"));
    for (const auto* request :
         {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
          "GET / HTTP/1.1\r\nConnection: close\r\nHost:\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"}) {
        EXPECT_TRUE(converse(request, 1).starts_with("HTTP/1.1 200 OK\r\n")) << request;
    }
}

TEST_F(HttpError, Is413ForABodyOverTheLimit) {
    EXPECT_EQ("HTTP/1.1 413 Payload Too Large",
              refusal("POST / HTTP/1.1\r\nContent-Length: 65\r\n\r\n"));
    EXPECT_EQ("HTTP/1.1 413 Payload Too Large",
              refusal("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n41\r\nab"));
}

TEST_F(HttpError, Is413ForABodyBlownUpByItsChunks) {
    limits_.body_bytes_max = 4096;
    std::string request = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (int i = 0; i < 2000; ++i) request += "1\r\nx\r\n";
    EXPECT_EQ("HTTP/1.1 413 Payload Too Large", refusal(request));
}

TEST_F(HttpError, Is400ForAChunkSizeThatDoesNotEnd) {
    const auto request =
        fmt::format("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;{:a<600}", "extension");
    EXPECT_EQ("HTTP/1.1 400 Bad Request", refusal(request));
}

TEST_F(HttpError, Is414ForATargetOverTheHeaderLimit) {
    EXPECT_EQ("HTTP/1.1 414 URI Too Long", refusal(fmt::format("GET /{:a<300}", "")));
}

TEST_F(HttpError, Is431ForAHeaderOverTheLimit) {
    EXPECT_EQ("HTTP/1.1 431 Request Header Fields Too Large",
              refusal(fmt::format("GET / HTTP/1.1\r\nA: {:a<300}", "")));
    EXPECT_EQ("HTTP/1.1 431 Request Header Fields Too Large",
              refusal(fmt::format("GET / HTTP/1.1\r\nA: {:a<300}\r\n\r\n", "")));
}

TEST_F(HttpError, Is431ForTooManyFields) {
    limits_.header_bytes_max = 4096;
    std::string request = "GET / HTTP/1.1\r\n";
    for (std::size_t i = 0; i <= HttpFields::count_max; ++i) request += "A: b\r\n";
    EXPECT_EQ("HTTP/1.1 431 Request Header Fields Too Large", refusal(request + "\r\n"));
}

TEST_F(HttpError, Is417ForAnExpectationThatIsNotKnown) {
    EXPECT_EQ("HTTP/1.1 417 Expectation Failed",
              refusal("GET / HTTP/1.1\r\nExpect: miracles\r\n\r\n"));
}

TEST_F(HttpError, Is501ForATransferCodingThatIsNotKnown) {
    for (const auto* coding : {"gzip", "gzip, chunked", "identity", "chunked, chunked"}) {
        EXPECT_EQ("HTTP/1.1 501 Not Implemented",
                  refusal(fmt::format("POST / HTTP/1.1\r\nTransfer-Encoding: {}\r\n\r\n", coding)))
            << coding;
    }
}

TEST_F(HttpError, Is505ForAnotherVersionOfHttp) {
    for (const auto* request :
         {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/0.9\r\n\r\n", "GET / HTTP/3.0\r\n\r\n"}) {
        EXPECT_EQ("HTTP/1.1 505 HTTP Version Not Supported", refusal(request)) << request;
    }
}

TEST_F(HttpError, ComesAfterTheAnswersToTheRequestsBeforeIt) {
    TestChannel channel;
    HttpProtocol protocol(channel, handler_, limits_);
    channel.feed(protocol, "GET / HTTP/1.1\r\n\r\nnonsense\r\n\r\nGET / HTTP/1.1\r\n\r\n");
    EXPECT_EQ(1, handler_.requests);
    const auto sent = channel.take();
    EXPECT_TRUE(sent.starts_with("HTTP/1.1 200"));
    EXPECT_NE(std::string::npos, sent.find("HTTP/1.1 400"));
    EXPECT_TRUE(channel.closed);
}

TEST_F(HttpError, Is408WhenTheConnectionSaysThatTheRequestIsTooSlow) {
    TestChannel channel;
    HttpProtocol protocol(channel, handler_, limits_);
    channel.feed(protocol, "GET / HT");
    protocol.on_read_timeout();
    EXPECT_TRUE(channel.take().starts_with("HTTP/1.1 408 Request Timeout"));
    EXPECT_TRUE(channel.closed);
}

}  // namespace
}  // namespace holdfast::net
