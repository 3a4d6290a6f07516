#include "sdk/http/exchange.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sdk/http/test_json_peer.h"

namespace holdfast::sdk {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Exchange> open(const ClientOptions& options) {
    return *Exchange::open(options);
}

Ask get(bool is_repeatable = true) {
    return {.method = "GET", .target = "/x", .timeout = 60s, .is_repeatable = is_repeatable};
}

template <class T>
std::string fault_of(const Answered<T>& answer) {
    return answer ? "none" : to_text(answer.error().error);
}

// The address of a server that is not there.
std::string nowhere() {
    const net::TestPeer peer([](auto&, int) {});
    return peer.url();
}

JsonPeer::Reply always(int status, const std::string& body) {
    return [=](const SeenRequest&, int) { return PeerAnswer{.status = status, .body = body}; };
}

TEST(Exchange, ReadsAnswersWhateverTheirStatus) {
    JsonPeer peer(always(409, R"({"error":"LockHeld","message":"no"})"));
    const auto answer = open(peer.options())->ask_once(get());
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 409);
    EXPECT_EQ(answer->reason(), "LockHeld");
    EXPECT_EQ(answer->message(), "no");
}

TEST(Exchange, AsksAgainUntilThereIsAnAnswer) {
    JsonPeer peer([](const SeenRequest&, int index) -> std::optional<PeerAnswer> {
        if (index == 0) return std::nullopt;
        if (index == 1) return PeerAnswer{.status = 503, .body = R"({"error":"StoreBusy"})"};
        return PeerAnswer{.body = "{}"};
    });
    const auto exchange = open(peer.options());
    ASSERT_TRUE(exchange->ask(get(), Patience(60s)));
    EXPECT_EQ(peer.seen().size(), 3U);
}

TEST(Exchange, LosesPatience) {
    JsonPeer peer(always(503, R"({"error":"StoreFailed","message":"disk full"})"));
    const auto answer = open(peer.options())->ask(get(), Patience(0s));
    EXPECT_EQ(fault_of(answer), "disk full");
    EXPECT_TRUE(answer.error().answer);
    EXPECT_EQ(peer.seen().size(), 1U);
}

TEST(Exchange, AsksOnceWhatMustNotBeRepeated) {
    JsonPeer peer([](const SeenRequest&, int) { return std::nullopt; });
    const auto answer = open(peer.options())->ask(get(false), Patience(60s));
    EXPECT_EQ(fault_of(answer), peer.url() + " closed the connection");
    EXPECT_TRUE(answer.error().may_have_effect);
    EXPECT_EQ(peer.seen().size(), 1U);
}

TEST(Exchange, TriesItsServersInTurn) {
    JsonPeer peer(always(200, "{}"));
    ClientOptions options = peer.options();
    options.servers.insert(options.servers.begin(), nowhere());
    const auto exchange = open(options);
    EXPECT_TRUE(exchange->ask_once(get(false)));
    EXPECT_TRUE(exchange->ask_once(get(false)));
}

TEST(Exchange, GoesToTheNextServerWhenOneIsOfNoUse) {
    JsonPeer standby(always(503, R"({"error":"standby"})"));
    JsonPeer active(always(200, "{}"));
    ClientOptions options = active.options();
    options.servers = {standby.url(), active.url()};
    const auto exchange = open(options);
    EXPECT_TRUE(exchange->ask(get(), Patience(60s)));
    EXPECT_TRUE(exchange->ask(get(), Patience(60s)));
    EXPECT_EQ(standby.seen().size(), 1U);
    EXPECT_EQ(active.seen().size(), 2U);
}

TEST(Exchange, SaysThatNoServerIsThere) {
    ClientOptions options{.servers = {nowhere()}};
    const auto answer = open(options)->ask(get(), Patience(0s));
    EXPECT_EQ(fault_of(answer), "cannot connect to " + options.servers[0] + ": Connection refused");
    EXPECT_FALSE(answer.error().may_have_effect);
}

TEST(Exchange, IsStoppedWhileItWaits) {
    JsonPeer peer([](const SeenRequest&, int) { return JsonPeer::silence(); });
    std::stop_source stop;
    std::jthread stopper([&] {
        peer.wait_for(1);
        stop.request_stop();
    });
    Ask ask = get();
    ask.stop = stop.get_token();
    const auto answer = open(peer.options())->ask(ask, Patience(60s));
    EXPECT_TRUE(answer.error().is_cancelled());
}

TEST(Exchange, IsStoppedBetweenTwoAttempts) {
    std::stop_source stop;
    JsonPeer peer([&](const SeenRequest&, int index) -> std::optional<PeerAnswer> {
        if (index == 1) stop.request_stop();
        return std::nullopt;
    });
    Ask ask = get();
    ask.stop = stop.get_token();
    EXPECT_TRUE(open(peer.options())->ask(ask, Patience(1h)).error().is_cancelled());
}

class TokenFile {
  public:
    explicit TokenFile(const std::string& token) { write(token); }
    ~TokenFile() { std::filesystem::remove(path_); }
    TokenFile(const TokenFile&) = delete;
    TokenFile& operator=(const TokenFile&) = delete;
    void write(const std::string& token) const { std::ofstream(path_) << token << "\nmore\n"; }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    const std::string path_ =
        ::testing::TempDir() + "holdfast_sdk_token_" + std::to_string(::getpid());
};

JsonPeer::Reply only(const std::string& token) {
    return [=](const SeenRequest& request, int) {
        const bool is_right = request.header.ends_with("Authorization: Bearer " + token);
        return PeerAnswer{.status = is_right ? 200 : 401, .body = R"({"error":"no"})"};
    };
}

TEST(Exchange, ShowsItsToken) {
    JsonPeer peer(only("secret"));
    ClientOptions options = peer.options();
    options.token = "secret";
    EXPECT_EQ(open(options)->ask_once(get())->status, 200);
    options.token = "other";
    const auto answer = open(options)->ask_once(get());
    EXPECT_EQ(answer->status, 401);
    EXPECT_TRUE(std::holds_alternative<NotPermitted>(answer->to_error()));
}

TEST(Exchange, ReadsItsTokenAgainWhenThatIsRefused) {
    JsonPeer peer(only("new"));
    const TokenFile file("old");
    ClientOptions options = peer.options();
    options.token_file = file.path();
    const auto exchange = open(options);
    EXPECT_EQ(exchange->ask_once(get())->status, 401);
    file.write("new");
    EXPECT_EQ(exchange->ask_once(get())->status, 200);
    EXPECT_EQ(peer.seen().size(), 3U);
}

TEST(Exchange, NamesWhatIsWrongWithItsOptions) {
    const auto opening_fault_of = [](const ClientOptions& options) {
        const auto exchange = Exchange::open(options);
        return exchange ? "none" : to_text(exchange.error());
    };
    EXPECT_EQ(opening_fault_of({.servers = {}}), "no server is named");
    EXPECT_EQ(opening_fault_of({.servers = {"ftp://x"}}),
              "'ftp://x' does not begin with http:// or https://");
    EXPECT_EQ(opening_fault_of({.token_file = "/nowhere/token"}),
              "cannot read a token from /nowhere/token: No such file or directory");
    EXPECT_EQ(opening_fault_of({.servers = {"https://x"}, .ca_file = "/nowhere/ca"}),
              "cannot read the CA certificates /nowhere/ca: No such file or directory");
}

}  // namespace
}  // namespace holdfast::sdk
