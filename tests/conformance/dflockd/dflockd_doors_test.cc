// One lock, two doors: what is held through dflockd is held for those who speak HTTP, and all wait
// in one queue.

#include <gmock/gmock.h>

#include <string>

#include "dflockd_host.h"

namespace holdfast::conformance {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class DflockdDoors : public ::testing::TestWithParam<std::size_t> {
  protected:
    // Asks for the lock `x` at /v1/locks.
    static void ask_lockserver(net::TestClient& client, const std::string& body) {
        client.send("POST /v1/locks/x/acquire HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                    std::to_string(body.size()) + "\r\n\r\n" + body);
    }

    DflockdHost host_{options_of(Start::serve, GetParam())};
};
INSTANTIATE_TEST_SUITE_P(Threads, DflockdDoors, ::testing::Values(1, 3));

TEST_P(DflockdDoors, WhatDflockdHoldsIsHeldForAll) {
    DflockdClient dflockd = host_.connect();
    net::TestClient http = host_.connect_http();
    const std::string token = dflockd.lock("x", "0 60");
    ask_lockserver(http, R"({"owner_id":"w1","ttl_ms":5000})");
    EXPECT_THAT(http.response().body, AllOf(HasSubstr(R"("acquired":false)"),
                                            HasSubstr(R"("current_owner_id":"conn-1")")));
    http.send("GET /lock?job=x HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_THAT(http.response().body,
                AllOf(HasSubstr(R"("holder":"conn-1")"), HasSubstr("lock held"),
                      HasSubstr(R"("expires_at":"2024-01-15T10:31:00Z")")));
    http.send("POST /lock?job=x&client=laptop1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(http.response().status, 409);
    EXPECT_EQ(dflockd.ask("r|x|" + token), "ok");
    http.send("POST /lock?job=x&client=laptop1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(http.response().status, 200);
    EXPECT_EQ(dflockd.ask("l|x|0"), "timeout");
    host_.advance(34s);
    EXPECT_EQ(dflockd.ask("l|x|0"), "timeout") << "it is kept for laptop1, whose lid is closed";
    host_.advance(1s);
    EXPECT_THAT(dflockd.ask("l|x|0"), StartsWith("ok "));
}

TEST_P(DflockdDoors, AllWaitInOneQueue) {
    DflockdClient first = host_.connect();
    DflockdClient third = host_.connect();
    net::TestClient second = host_.connect_http();
    const std::string token = first.lock("x");
    ask_lockserver(second, R"({"owner_id":"w2","ttl_ms":5000,"wait_ms":100000})");
    ASSERT_TRUE(host_.comes_to("1 locks 1 waiters"));
    third.send(lines_of("l|x|100"));
    ASSERT_TRUE(host_.comes_to("1 locks 2 waiters"));
    EXPECT_EQ(first.ask("r|x|" + token), "ok");
    EXPECT_THAT(second.response().body, HasSubstr(R"("acquired":true)"));
    EXPECT_EQ(first.ask("l|x|0"), "timeout");
    host_.advance(5s);
    EXPECT_THAT(third.hear(), StartsWith("ok ")) << "the lease of the second has ended";
}

TEST_P(DflockdDoors, AConnectionThatDiesLetsAnotherDoorIn) {
    net::TestClient http = host_.connect_http();
    {
        DflockdClient dflockd = host_.connect();
        dflockd.lock("x");
        ask_lockserver(http, R"({"owner_id":"w1","ttl_ms":5000,"wait_ms":100000})");
        ASSERT_TRUE(host_.comes_to("1 locks 1 waiters"));
        dflockd.reset();
    }
    EXPECT_THAT(http.response().body, HasSubstr(R"("acquired":true)"));
}

// ---- Limits of this door alone ----

class DflockdLimitsOfItsOwn : public ::testing::TestWithParam<std::size_t> {
  protected:
    // Acquires the lock at /lock, which is free.
    static int acquire_at_http(DflockdHost& host, const std::string& lock) {
        net::TestClient client = host.connect_http();
        client.send("POST /lock?client=h&job=" + lock + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
        return client.response().status;
    }
    static app::ServeOptions options() { return options_of(Start::serve, GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Threads, DflockdLimitsOfItsOwn, ::testing::Values(1, 3));

TEST_P(DflockdLimitsOfItsOwn, CountTheLocksOfAllItsConnections) {
    app::ServeOptions limited = options();
    limited.dflockd_limits.locks_max = 2;
    DflockdHost host(limited);
    for (const char* name : {"h1", "h2", "h3"}) EXPECT_EQ(acquire_at_http(host, name), 200);
    DflockdClient a = host.connect(), b = host.connect(), c = host.connect();
    a.lock("k1");
    b.lock("k2");
    EXPECT_EQ(c.ask("l|k3|0"), "error_max_locks");
    EXPECT_EQ(c.ask("l|h1|10"), "error_max_locks") << "to wait for it would be a third";
    EXPECT_EQ(acquire_at_http(host, "h4"), 200);
}

TEST_P(DflockdLimitsOfItsOwn, CountItsWaiters) {
    app::ServeOptions limited = options();
    limited.dflockd_limits.waiters_max = 1;
    DflockdHost host(limited);
    DflockdClient holder = host.connect(), first = host.connect(), second = host.connect();
    const std::string token = holder.lock("k");
    net::TestClient http = host.connect_http();
    const std::string body = R"({"owner_id":"w","ttl_ms":5000,"wait_ms":100000})";
    http.send("POST /v1/locks/k/acquire HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n" + body);
    ASSERT_TRUE(host.comes_to("1 locks 1 waiters"));
    first.send(lines_of("l|k|100"));
    ASSERT_TRUE(host.comes_to("1 locks 2 waiters")) << "the other door's waiter does not count";
    EXPECT_EQ(second.ask("l|k|100"), "error_max_waiters");
    EXPECT_EQ(second.ask("l|k|0"), "error_max_waiters");
    EXPECT_EQ(second.ask("e|k|"), "error_max_waiters");
}

TEST_P(DflockdLimitsOfItsOwn, CountItsConnections) {
    app::ServeOptions limited = options();
    limited.dflockd_limits.connections_max = 1;
    DflockdHost host(limited);
    DflockdClient only = host.connect();
    EXPECT_EQ(only.ask("ping|_|"), "ok");
    DflockdClient second = host.connect();
    EXPECT_EQ(second.read_to_end(), "");
    for (const char* name : {"h1", "h2"}) EXPECT_EQ(acquire_at_http(host, name), 200);
}

TEST_P(DflockdLimitsOfItsOwn, KeepItsIdleKeysAlone) {
    app::ServeOptions keeping = options();
    keeping.dflockd_limits.idle_max = 60s;
    DflockdHost host(keeping);
    DflockdClient client = host.connect();
    const std::string answer = client.ask("sl|s|0 2");
    EXPECT_EQ(client.ask("sr|s|" + answer.substr(3, 32)), "ok");
    EXPECT_EQ(client.ask("sl|s|0 3"), "error_limit_mismatch");
    EXPECT_EQ(acquire_at_http(host, "h"), 200);
    net::TestClient http = host.connect_http();
    http.send("DELETE /lock?client=h&job=h HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(http.response().status, 200);
    EXPECT_THAT(client.ask("stats|_|"), AllOf(HasSubstr(R"("idle_locks":[])"),
                                              HasSubstr(R"("idle_semaphores":[{"key":"s")")));
    host.advance(60s);
    EXPECT_THAT(client.ask("sl|s|0 3"), StartsWith("ok "));
}

}  // namespace
}  // namespace holdfast::conformance
