#include "doors/hengdang/door_gate.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "net/loop/test_channel.h"

namespace holdfast::doors::hengdang {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// Receives the body of a PUT in pieces, and answers everything else with its path.
class Shelf final : public net::HttpHandler {
  public:
    explicit Shelf(std::vector<std::string>& notes) : notes_(notes) {}
    ~Shelf() { notes_.emplace_back("gone"); }

    void handle(const net::HttpRequest& request, net::HttpReply& reply) override {
        reply.send(200, "", request.path);
    }
    bool takes_pieces(std::string_view method, std::string_view /*target*/) const override {
        return method == "PUT";
    }
    std::unique_ptr<net::BodySink> receive(const net::HttpRequest& request, net::HttpReply& reply,
                                           net::BodySource& /*source*/) override {
        if (request.path == "/no") {
            reply.send(423, "", "locked");
            return nullptr;
        }
        return std::make_unique<Sink>(notes_, reply.defer(), request.path == "/full");
    }

  private:
    class Sink final : public net::BodySink {
      public:
        Sink(std::vector<std::string>& notes, net::DeferredReply reply, bool is_full)
            : notes_(notes), reply_(std::move(reply)), is_full_(is_full) {}
        void on_piece(std::string_view piece) override { body_.append(piece); }
        void on_whole() override { reply_.send(201, "", body_); }
        void on_fault(const net::HttpFault& fault) override {
            notes_.push_back("fault " + std::to_string(fault.status) + " after " + body_);
            reply_.send(fault.status, "application/json", fault.json);
        }
        bool is_congested() const override { return is_full_; }

      private:
        std::vector<std::string>& notes_;
        net::DeferredReply reply_;
        const bool is_full_;
        std::string body_;
    };

    std::vector<std::string>& notes_;
};

class DoorGateTest : public ::testing::Test {
  protected:
    void feed(std::string_view bytes) { channel_.feed(*protocol_, bytes); }
    std::string take_output() { return channel_.take(); }
    void open() { gate_.open(std::make_shared<Shelf>(notes_)); }

    std::vector<std::string> notes_;
    const Origins origins_{{"https://drive.example.org"}};
    DoorGate gate_{origins_, "nobody leads"};
    net::HttpLimits limits_{.body_bytes_max = 4};
    net::TestChannel channel_;
    std::unique_ptr<net::HttpProtocol> protocol_ =
        std::make_unique<net::HttpProtocol>(channel_, gate_, limits_);
};

const std::string get = "GET /a HTTP/1.1\r\n\r\n";
const std::string put = "PUT /a HTTP/1.1\r\nContent-Length: 5\r\n\r\n";

TEST_F(DoorGateTest, RefusesWithTheReasonWhileItIsClosed) {
    feed(get);
    const std::string refused = take_output();
    EXPECT_THAT(refused, StartsWith("HTTP/1.1 503 "));
    EXPECT_THAT(refused, HasSubstr("\r\nRetry-After: 1\r\n"));
    EXPECT_THAT(refused, EndsWith("\r\n\r\n{\"error\":\"Files not available\","
                                  "\"message\":\"nobody leads\"}\n"));
    gate_.close("another reason");
    feed(get);
    EXPECT_THAT(take_output(), HasSubstr("\"message\":\"another reason\""));
}

TEST_F(DoorGateTest, RefusesABodyBeforeItIsReadWhileItIsClosed) {
    feed(put);
    EXPECT_THAT(take_output(), StartsWith("HTTP/1.1 503 "));
    feed("hello" + get);
    EXPECT_THAT(take_output(), StartsWith("HTTP/1.1 503 "));
}

TEST_F(DoorGateTest, PassesRequestsOnWhileItIsOpen) {
    open();
    feed(get);
    EXPECT_THAT(take_output(), EndsWith("\r\n\r\n/a"));
    feed(put + "hello");
    EXPECT_THAT(take_output(), EndsWith("\r\n\r\nhello"));
    feed("PUT /no HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello");
    EXPECT_THAT(take_output(), EndsWith("\r\n\r\nlocked"));
    gate_.close("closed");
    EXPECT_THAT(notes_, ElementsAre("gone"));
    feed(get);
    EXPECT_THAT(take_output(), StartsWith("HTTP/1.1 503 "));
    open();
    feed(get);
    EXPECT_THAT(take_output(), EndsWith("\r\n\r\n/a"));
}

TEST_F(DoorGateTest, BreaksOffABodyWhenItClosesAndSkipsTheRest) {
    open();
    feed(put + "he");
    EXPECT_THAT(take_output(), IsEmpty());
    gate_.close("closed");
    EXPECT_THAT(notes_, ElementsAre("gone", "fault 503 after he"));
    const std::string refused = take_output();
    EXPECT_THAT(refused, StartsWith("HTTP/1.1 503 "));
    EXPECT_THAT(refused, HasSubstr("nothing was changed"));
    open();
    feed("llo" + get);
    EXPECT_THAT(take_output(), EndsWith("\r\n\r\n/a"));
}

TEST_F(DoorGateTest, GoesOnReadingABodyThatWasPausedWhenItIsBrokenOff) {
    open();
    feed("PUT /full HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe");
    gate_.close("closed");
    EXPECT_THAT(take_output(), StartsWith("HTTP/1.1 503 "));
    open();
    feed("llo" + get);
    EXPECT_THAT(take_output(), EndsWith("\r\n\r\n/a"));
}

// A page that may use the files learns why it cannot just now.
TEST_F(DoorGateTest, LetsPagesOfAllowedOriginsSeeEveryAnswer) {
    const std::string origin = "Origin: https://drive.example.org\r\n";
    const std::string allowed = "\r\nAccess-Control-Allow-Origin: https://drive.example.org\r\n";
    const std::string preflight = "OPTIONS /a HTTP/1.1\r\nAccess-Control-Request-Method: PUT\r\n";
    feed("GET /a HTTP/1.1\r\n" + origin + "\r\n");
    EXPECT_THAT(take_output(), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr(allowed)));
    feed("PUT /a HTTP/1.1\r\nContent-Length: 5\r\n" + origin + "\r\nhello");
    EXPECT_THAT(take_output(), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr(allowed)));
    feed(preflight + origin + "\r\n");
    EXPECT_THAT(take_output(), AllOf(StartsWith("HTTP/1.1 204 "), HasSubstr(allowed)));
    open();
    feed("PUT /a HTTP/1.1\r\nContent-Length: 5\r\n" + origin + "\r\nhello");
    EXPECT_THAT(take_output(), AllOf(StartsWith("HTTP/1.1 201 "), HasSubstr(allowed)));
    feed(preflight + "Origin: https://evil.example\r\n\r\n");
    EXPECT_THAT(take_output(), AllOf(StartsWith("HTTP/1.1 403 "), Not(HasSubstr(allowed))));
}

TEST_F(DoorGateTest, ForgetsABodyWhoseConnectionIsGone) {
    open();
    feed(put + "he");
    protocol_->on_closed();
    gate_.close("closed");
    EXPECT_THAT(notes_, ElementsAre("gone"));
}

}  // namespace
}  // namespace holdfast::doors::hengdang
