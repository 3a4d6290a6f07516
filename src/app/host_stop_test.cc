// A server that is told to stop: who waits is sent away at once, who holds may go on until the end.

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <thread>

#include "app/host.h"
#include "net/loop/test_client.h"

namespace holdfast::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

std::string request(const std::string& line, const std::string& body = "") {
    return line + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
}

std::string lease_of_x(const std::string& holder, const std::string& more = "") {
    return request("POST /v1/leases",
                   R"({"scope":"named:x","holder":")" + holder + "\"" + more + "}");
}

// The text of a field in a body of JSON.
std::string field_of(const std::string& json, const std::string& name) {
    const std::string start = "\"" + name + "\":\"";
    const auto begin = json.find(start) + start.size();
    return json.substr(begin, json.find('"', begin) - begin);
}

// A server that would wait for longer than any test for what holds up its end.
class HostStop : public ::testing::TestWithParam<std::size_t> {
  protected:
    HostStop()
        : host_(Host::start({.http_address = "127.0.0.1:0",
                             .dflockd_address = "127.0.0.1:0",
                             .is_in_memory = true,
                             .threads = GetParam(),
                             .http_request_timeout = 1h,
                             .shutdown_timeout = 1h},
                            clock_)
                    .value()),
          thread_([this] { host_->run(); }) {}
    ~HostStop() override {
        host_->shut_down();
        thread_.join();
    }

    [[nodiscard]] net::TestClient connect() const {
        return net::TestClient(host_->endpoint("http"));
    }

    [[nodiscard]] net::TestResponse ask(const std::string& bytes) const {
        net::TestClient client = connect();
        client.send(bytes);
        return client.response();
    }

    void wait_for_queue(int length) const {
        const std::string wanted = "\"queue_length\":" + std::to_string(length);
        while (ask(request("GET /v1/locks/x?queue=true")).body.find(wanted) == std::string::npos) {
            std::this_thread::yield();
        }
    }

    // Returns when the service knows of it.
    void begin_stop() const {
        host_->shut_down();
        host_->wake();
    }

    service::SystemClock clock_;
    std::unique_ptr<Host> host_;
    std::thread thread_;
};
INSTANTIATE_TEST_SUITE_P(Threads, HostStop, ::testing::Values(1, 3));

TEST_P(HostStop, TellsEverybodyWhoWaitsAtOnceAndWaitsForNobody) {
    EXPECT_EQ(ask(lease_of_x("a", R"(,"duration_ms":3600000)")).status, 200);
    net::TestClient scoped = connect(), lockserver = connect();
    net::TestClient dflockd(host_->endpoint("dflockd"));
    scoped.send(lease_of_x("b", R"(,"wait_ms":31536000000,"request_id":"r1")"));
    lockserver.send(
        request("POST /v1/locks/x/acquire", R"({"owner_id":"c","ttl_ms":5000,"wait_ms":600000})"));
    dflockd.send("l\nx\n3600\n");
    wait_for_queue(3);
    host_->shut_down();
    const net::TestResponse at_leases = scoped.response();
    EXPECT_EQ(at_leases.status, 503);
    EXPECT_THAT(at_leases.header, HasSubstr("\r\nRetry-After: 1\r\n"));
    EXPECT_THAT(at_leases.body, StartsWith(R"({"error":"ShuttingDown","message":")"));
    const net::TestResponse at_locks = lockserver.response();
    EXPECT_EQ(at_locks.status, 409);
    EXPECT_THAT(at_locks.body, HasSubstr(R"("recommended_retry_ms":50,"reason":"BUSY_RETRY")"));
    EXPECT_EQ(dflockd.read_to_end(), "error_draining\n");
    EXPECT_EQ(scoped.read_to_end(), "");
}

TEST_P(HostStop, RenewsAndReleasesOnOldAndNewConnectionsUntilTheEnd) {
    net::TestClient old = connect();
    old.send(lease_of_x("a"));
    const std::string token = field_of(old.response().body, "token");
    EXPECT_EQ(ask(request("POST /lock?client=laptop1")).status, 200);
    net::TestClient in_flight = connect();  // holds up the end: half of a request has come
    in_flight.send(request("GET /lock") + "GET /lock HTT");
    EXPECT_EQ(in_flight.response().status, 200);
    begin_stop();

    const std::string renew = request("POST /v1/leases/" + token + "/renew");
    old.send(renew);
    EXPECT_EQ(old.response().status, 200);
    EXPECT_EQ(ask(renew).status, 200);
    EXPECT_THAT(ask(request("POST /lock?client=laptop1")).body, HasSubstr("\"renewed\""));
    EXPECT_THAT(ask(request("GET /v1/locks/x")).body, HasSubstr("\"held\":true"));
    EXPECT_EQ(ask(request("DELETE /v1/leases/" + token)).status, 200);

    EXPECT_THAT(ask(lease_of_x("b")).body, HasSubstr("\"ShuttingDown\"")) << "though it is free";
    const net::TestResponse other = ask(request("POST /lock?client=laptop2&job=y"));
    EXPECT_EQ(other.status, 503);
    EXPECT_THAT(other.body, HasSubstr("shutting down"));
    in_flight.send("P/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(in_flight.response().status, 200);
    EXPECT_EQ(in_flight.read_to_end(), "");
}

TEST_P(HostStop, GoesOnWithADflockdConnectionThatWaited) {
    net::TestClient holder(host_->endpoint("dflockd")), waiter(host_->endpoint("dflockd"));
    waiter.send("l\ny\n0\n");
    const std::string granted = waiter.read(3 + 32 + 4);
    ASSERT_THAT(granted, AllOf(StartsWith("ok "), HasSubstr("33\n")));
    holder.send("l\nx\n0\n");
    ASSERT_THAT(holder.read(3 + 32 + 4), StartsWith("ok "));
    net::TestClient in_flight = connect();
    in_flight.send(request("GET /lock") + "GET /lock HTT");
    EXPECT_EQ(in_flight.response().status, 200);
    waiter.send("l\nx\n3600\n");
    wait_for_queue(1);
    begin_stop();
    EXPECT_EQ(waiter.read(15), "error_draining\n");
    waiter.send("n\ny\n" + granted.substr(3, 32) + "\n");
    EXPECT_EQ(waiter.read(6), "ok 33\n");
    waiter.send("l\nz\n0\n");
    EXPECT_EQ(waiter.read(15), "error_draining\n");
    in_flight.send("P/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(in_flight.response().status, 200);
    EXPECT_EQ(waiter.read_to_end(), "");
}

}  // namespace
}  // namespace holdfast::app
