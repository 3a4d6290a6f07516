#include "net/loop/server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <mutex>
#include <set>
#include <sstream>

#include "net/http/http_protocol.h"
#include "net/loop/test_server.h"

namespace holdfast::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Answers at once, except /later. One per loop.
class CountingHandler final : public HttpHandler {
  public:
    void handle(const HttpRequest& request, HttpReply& reply) override {
        if (request.path == "/later") {
            later.push_back(reply.defer([this] { ++abandoned; }));
        } else {
            reply.send(200, "text/plain", request.body);
        }
    }
    std::vector<DeferredReply> later;
    int abandoned = 0;
};

class ServerTest : public testing::Test {
  protected:
    ProtocolFactory factory() {
        return [this](Channel& channel, EventLoop&) {
            return std::make_unique<HttpProtocol>(channel, handler_, limits_);
        };
    }

    void await_deferred(TestServer& server, std::size_t count) {
        EXPECT_TRUE(server.eventually([this, count] { return handler_.later.size() == count; }));
    }

    const HttpLimits limits_{};
    CountingHandler handler_;
};

constexpr auto* get_now = "GET / HTTP/1.1\r\n\r\n";
constexpr auto* get_later = "GET /later HTTP/1.1\r\n\r\n";

TEST_F(ServerTest, ListensOnAFreePortAndSaysWhich) {
    TestServer server(factory());
    EXPECT_NE(0, server.server().endpoint().port());
    auto client = server.connect();
    client.send(get_now);
    EXPECT_EQ(200, client.response().status);
}

TEST_F(ServerTest, SaysWhyItCannotListen) {
    TestServer server(factory());
    EventLoop loop;
    const auto second = Server::start(server.server().endpoint(), {&loop}, factory());
    ASSERT_FALSE(second);
    const auto& message = second.error().message;
    EXPECT_NE(message.npos, message.find(to_text(server.server().endpoint()))) << message;
    EXPECT_NE(message.npos, message.find("in use")) << message;
}

class UnixServerTest : public ServerTest {
  protected:
    UnixServerTest() { std::filesystem::remove(path_); }
    ~UnixServerTest() override { std::filesystem::remove(path_); }

    std::string fault_of_start() {
        EventLoop loop;
        const auto server = Server::start(parse_endpoint(address_).value(), {&loop}, factory());
        return server ? "" : server.error().message;
    }

    const std::string path_ =
        testing::TempDir() + "holdfast" + std::to_string(::getpid()) + ".sock";
    const std::string address_ = "unix:" + path_;
};

TEST_F(UnixServerTest, ServesItsOwnerAndGroupAndRemovesTheSocketAtTheEnd) {
    {
        TestServer server(factory(), {}, 1, address_);
        EXPECT_EQ(address_, to_text(server.server().endpoint()));
        auto client = server.connect();
        client.send(get_now);
        EXPECT_EQ(200, client.response().status);
        using std::filesystem::perms;
        EXPECT_EQ(std::filesystem::status(path_).permissions(),
                  perms::owner_read | perms::owner_write | perms::group_read | perms::group_write);
    }
    EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(UnixServerTest, RefusesASocketAtWhichAnotherServerListens) {
    TestServer server(factory(), {}, 1, address_);
    const std::string fault = fault_of_start();
    EXPECT_NE(std::string::npos, fault.find(address_)) << fault;
    EXPECT_NE(std::string::npos, fault.find("another server listens there")) << fault;
    auto client = server.connect();
    client.send(get_now);
    EXPECT_EQ(200, client.response().status);
}

TEST_F(UnixServerTest, ReplacesTheSocketOfAServerThatWasKilled) {
    const int dead = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto address = Endpoint::unix_socket(path_).socket_address();
    ASSERT_EQ(0, ::bind(dead, address.data(), static_cast<socklen_t>(address.size())));
    ::close(dead);
    ASSERT_TRUE(std::filesystem::exists(path_));
    TestServer server(factory(), {}, 1, address_);
    auto client = server.connect();
    client.send(get_now);
    EXPECT_EQ(200, client.response().status);
}

TEST_F(UnixServerTest, LeavesOtherFilesAlone) {
    std::ofstream(path_) << "mine";
    EXPECT_NE(std::string::npos, fault_of_start().find("no socket"));
    EXPECT_TRUE(std::filesystem::is_regular_file(path_));
}

TEST_F(UnixServerTest, SaysThatTheFolderIsMissing) {
    EventLoop loop;
    const auto server =
        Server::start(parse_endpoint("unix:/nowhere/at/all.sock").value(), {&loop}, factory());
    ASSERT_FALSE(server);
    EXPECT_NE(std::string::npos, server.error().message.find("No such file or directory"));
}

TEST_F(ServerTest, CountsItsConnections) {
    TestServer server(factory());
    {
        auto a = server.connect();
        auto b = server.connect();
        a.send(get_now);
        b.send(get_now);
        a.response();
        b.response();
        EXPECT_EQ(2u, server.server().counts().connections);
    }
    EXPECT_TRUE(server.eventually([&] { return server.server().counts().connections == 0; }));
    EXPECT_EQ(2u, server.server().counts().accepted);
}

// The kernel's list of connections names the timer of each connection.
TEST_F(ServerTest, AsksSilentPeersWhetherTheyAreThere) {
    TestServer server(factory());
    const TestClient client = server.connect();
    ASSERT_TRUE(server.eventually([&] { return server.server().counts().connections == 1; }));
    std::ostringstream port;
    port << ":" << std::hex << std::uppercase << std::setw(4) << std::setfill('0')
         << server.server().endpoint().port();
    std::ifstream list("/proc/net/tcp");
    bool is_watched = false;
    for (std::string line; std::getline(list, line);) {
        std::istringstream fields(line);
        std::string number, local, remote, state, queues, timer;
        fields >> number >> local >> remote >> state >> queues >> timer;
        const bool is_established = state == "01";
        if (!is_established || !local.ends_with(port.str())) continue;
        is_watched = is_watched || timer.starts_with("02:");
    }
    EXPECT_TRUE(is_watched);
}

TEST_F(ServerTest, ClosesConnectionsOverItsLimit) {
    TestServer server(factory(), {.connections_max = 1, .limits = {}, .on_error = {}});
    auto first = server.connect();
    first.send(get_now);
    EXPECT_EQ(200, first.response().status);
    auto second = server.connect();
    EXPECT_EQ("", second.read_to_end());
    EXPECT_EQ(1u, server.server().counts().refused);
    first.send(get_now);
    EXPECT_EQ(200, first.response().status);
}

TEST_F(ServerTest, TellsConnectionsOverItsLimitWhy) {
    int told = 0;
    ServerOptions options{.connections_max = 1, .turn_away_text = "no room\n"};
    options.on_refused = [&told] { ++told; };
    TestServer server(factory(), std::move(options));
    auto first = server.connect();
    first.send(get_now);
    EXPECT_EQ(200, first.response().status);
    {
        auto early = server.connect();
        EXPECT_EQ("no room\n", early.read_to_end());
    }
    {
        // What it sends is thrown away, and does not reset the connection before it has read.
        auto talkative = server.connect();
        talkative.try_send(get_now + std::string(100'000, 'x'));
        EXPECT_EQ("no room\n", talkative.read_to_end());
    }
    EXPECT_EQ(2, server.on_loop([&] { return told; }));
    EXPECT_EQ(2u, server.server().counts().refused);
    EXPECT_EQ(1u, server.server().counts().connections);
}

// How many descriptors this process has.
std::size_t count_descriptors() {
    const std::filesystem::directory_iterator list("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(list), end(list)));
}

TEST_F(ServerTest, KeepsFewOfThemAndNotForLong) {
    ServerOptions options{.connections_max = 1, .turn_away_text = "no room\n"};
    TestServer server(factory(), std::move(options));
    auto first = server.connect();
    first.send(get_now);
    EXPECT_EQ(200, first.response().status);
    const std::size_t before = count_descriptors();
    std::vector<TestClient> silent;  // they never close
    constexpr std::size_t clients = 2 * TurnedAway::kept_max;
    for (std::size_t i = 0; i < clients; ++i) silent.push_back(server.connect());
    EXPECT_TRUE(server.eventually([&] { return server.server().counts().refused == clients; }));
    EXPECT_LE(count_descriptors(), before + clients + TurnedAway::kept_max);
    EXPECT_TRUE(server.eventually([&] { return count_descriptors() == before + clients; }));
    EXPECT_EQ("no room\n", silent.back().read_to_end());
}

TEST_F(ServerTest, SurvivesALackOfDescriptors) {
#ifdef __SANITIZE_ADDRESS__
    // UBSan opens a pipe to look at an object's type, and if it gets none, reports a bad object.
    GTEST_SKIP() << "the sanitizers need descriptors of their own";
#endif
    std::atomic<int> faults = 0;
    TestServer server(factory(), {.limits = {}, .on_error = [&](const base::Error& error) {
                                      EXPECT_NE(error.message.npos, error.message.find("accept"));
                                      ++faults;
                                  }});
    rlimit before{};
    ASSERT_EQ(0, ::getrlimit(RLIMIT_NOFILE, &before));
    // The client's socket uses the last descriptor that is allowed.
    const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(next, 0);
    ::close(next);
    const rlimit tight{.rlim_cur = static_cast<rlim_t>(next) + 1, .rlim_max = before.rlim_max};
    ASSERT_EQ(0, ::setrlimit(RLIMIT_NOFILE, &tight));
    auto client = server.connect();
    client.send(get_now);
    while (faults == 0) std::this_thread::yield();
    // It goes on trying, ten times a second, and does not say so every time.
    std::this_thread::sleep_for(std::chrono::milliseconds(350));
    EXPECT_EQ(1, faults);
    ASSERT_EQ(0, ::setrlimit(RLIMIT_NOFILE, &before));
    EXPECT_EQ(200, client.response().status);
}

TEST_F(ServerTest, ShutsDownAtOnceWhenNothingIsConnected) {
    TestServer server(factory());
    EXPECT_EQ(std::future_status::ready, server.shut_down(seconds(60)).wait_for(seconds(10)));
}

TEST_F(ServerTest, ClosesIdleConnectionsAtOnceWhenItShutsDown) {
    TestServer server(factory());
    auto client = server.connect();
    client.send(get_now);
    client.response();
    const auto done = server.shut_down(seconds(60));
    EXPECT_EQ("", client.read_to_end());
    EXPECT_EQ(std::future_status::ready, done.wait_for(seconds(10)));
}

TEST_F(ServerTest, AnswersWhatIsInFlightWhenItShutsDown) {
    TestServer server(factory());
    auto deferred = server.connect();
    deferred.send(std::string(get_later) + get_now);
    await_deferred(server, 1);
    auto half_sent = server.connect();
    half_sent.send("GET / HTTP/1.1\r\n");
    EXPECT_TRUE(server.eventually([&] { return server.server().counts().connections == 2; }));
    // The half request must be received before the shutdown, or the server does not know of it.
    auto marker = server.connect();
    marker.send(get_now);
    marker.response();

    const auto done = server.shut_down(seconds(60));
    EXPECT_EQ("", marker.read_to_end());
    server.on_loop([this] { handler_.later[0].send(200, "", "late"); });
    EXPECT_EQ("late", deferred.response().body);
    EXPECT_NE(std::string::npos, deferred.response().header.find("HTTP/1.1 200"));
    EXPECT_EQ("", deferred.read_to_end());
    half_sent.send("\r\n");
    const auto last = half_sent.response();
    EXPECT_NE(std::string::npos, last.header.find("Connection: close\r\n"));
    EXPECT_EQ("", half_sent.read_to_end());
    { const TestClient gone(std::move(deferred)), gone_too(std::move(half_sent)); }
    EXPECT_EQ(std::future_status::ready, done.wait_for(seconds(10)));
}

TEST_F(ServerTest, GoesOnUntilWhatIsInFlightIsAnswered) {
    TestServer server(factory());
    auto deferred = server.connect(), old = server.connect();
    old.send(get_now);
    EXPECT_EQ(200, old.response().status);
    deferred.send(get_later);
    await_deferred(server, 1);
    const auto quiet = server.begin_shut_down();
    old.send(get_now);
    EXPECT_EQ(200, old.response().status) << "a connection that was idle is served";
    auto fresh = server.connect();
    fresh.send(get_now);
    EXPECT_EQ(200, fresh.response().status) << "and so is a new one";
    const auto silent = server.connect();  // asks for nothing, and holds up nothing
    EXPECT_NE(std::future_status::ready, quiet.wait_for(seconds(0)));
    server.on_loop([this] { handler_.later[0].send(200, "", "late"); });
    EXPECT_EQ("late", deferred.response().body);
    EXPECT_EQ(std::future_status::ready, quiet.wait_for(seconds(10)));
    EXPECT_EQ(std::future_status::ready, server.shut_down(seconds(60)).wait_for(seconds(10)));
}

TEST_F(ServerTest, AConnectionThatBreaksHoldsUpNoShutdown) {
    TestServer server(factory());
    auto deferred = server.connect();
    deferred.send(get_later);
    await_deferred(server, 1);
    const auto quiet = server.begin_shut_down();
    deferred.reset();
    EXPECT_EQ(std::future_status::ready, quiet.wait_for(seconds(10)));
    server.shut_down(seconds(60)).wait();
}

TEST_F(ServerTest, APeerThatDoesNotCloseHoldsUpNoShutdown) {
    const ConnectionLimits patient{.linger_timeout = seconds(3600)};
    TestServer server(factory(), {.limits = patient});
    auto client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(200, client.response().status);
    EXPECT_EQ("", client.read_to_end());
    EXPECT_EQ(std::future_status::ready, server.shut_down(seconds(3600)).wait_for(seconds(10)));
}

TEST_F(ServerTest, ClosesTheRestWhenTheGraceIsOver) {
    TestServer server(factory());
    auto client = server.connect();
    client.send(get_later);
    await_deferred(server, 1);
    const auto done = server.shut_down(milliseconds(20));
    EXPECT_EQ("", client.read_to_end());
    EXPECT_EQ(std::future_status::ready, done.wait_for(seconds(10)));
    EXPECT_EQ(1, server.on_loop([this] { return handler_.abandoned; }));
}

TEST_F(ServerTest, AcceptsNobodyOnceItShutsDown) {
    TestServer server(factory());
    server.shut_down(seconds(1)).wait();
    const auto endpoint = server.server().endpoint();
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_NE(0, ::connect(descriptor, endpoint.socket_address().data(),
                           static_cast<socklen_t>(endpoint.socket_address().size())));
    ::close(descriptor);
}

TEST_F(ServerTest, TellsADeferredReplyThatItsPeerDied) {
    TestServer server(factory());
    auto killed = server.connect();
    killed.send(get_later);
    auto closed = server.connect();
    closed.send(get_later);
    await_deferred(server, 2);
    killed.reset();
    { const TestClient gone(std::move(closed)); }
    EXPECT_TRUE(server.eventually([this] { return handler_.abandoned == 2; }));
    server.on_loop([this] { handler_.later.clear(); });
    EXPECT_TRUE(server.eventually([&] { return server.server().counts().connections == 0; }));
}

TEST(ServerOnSeveralLoops, DealsConnectionsInTurnAndKeepsThemWhereTheyAre) {
    std::mutex mutex;
    std::map<EventLoop*, int> dealt;
    std::map<EventLoop*, CountingHandler> handlers;
    const HttpLimits limits;
    TestServer server(
        [&](Channel& channel, EventLoop& loop) {
            const std::lock_guard guard(mutex);
            ++dealt[&loop];
            return std::make_unique<HttpProtocol>(channel, handlers[&loop], limits);
        },
        {}, 3);
    {
        std::vector<TestClient> clients;
        for (int i = 0; i < 30; ++i) clients.push_back(server.connect());
        for (int round = 0; round < 20; ++round) {
            for (auto& client : clients)
                client.send("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi");
            for (auto& client : clients) EXPECT_EQ("hi", client.response().body);
        }
        const std::lock_guard guard(mutex);
        EXPECT_EQ(3u, dealt.size());
        for (const auto& [loop, count] : dealt) EXPECT_EQ(10, count);
    }
    const auto done = server.shut_down(seconds(10));
    EXPECT_EQ(std::future_status::ready, done.wait_for(seconds(10)));
    EXPECT_EQ(0u, server.server().counts().connections);
}

TEST(ServerOnSeveralLoops, MayBeDestroyedFromItsLastCallback) {
    EventLoop a, b;
    std::thread thread_a([&] { a.run(); }), thread_b([&] { b.run(); });
    CountingHandler handler;
    const HttpLimits limits;
    for (int round = 0; round < 50; ++round) {
        auto server =
            Server::start(parse_endpoint("localhost:0").value(), {&a, &b},
                          [&](Channel& channel, EventLoop&) {
                              return std::make_unique<HttpProtocol>(channel, handler, limits);
                          })
                .value();
        std::vector<TestClient> clients;
        for (int i = 0; i < 4; ++i) clients.emplace_back(server->endpoint());
        std::promise<void> done;
        server->shut_down(seconds(10), [&] {
            server.reset();
            done.set_value();
        });
        done.get_future().wait();
    }
    a.stop();
    b.stop();
    thread_a.join();
    thread_b.join();
}

}  // namespace
}  // namespace holdfast::net
