// Writes that meet: locks that are lost on the way, tokens, regions, crowds.

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "write_test.h"

namespace holdfast::conformance {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class HengdangWrite : public HengdangWriteTest {};
INSTANTIATE_TEST_SUITE_P(Threads, HengdangWrite, ::testing::Values(1, 3));

constexpr std::size_t long_bytes = 300'000;

TEST_P(HengdangWrite, ThatHasLostItsLockChangesNothing) {
    EXPECT_EQ(a_.put("/x", "old").status, 201);
    begin_half(a_, "/x", long_bytes);
    host_.advance(1800s);
    a_.connection().send(std::string(long_bytes / 2, 'h'));
    const auto response = a_.connection().response();
    EXPECT_EQ(response.status, 423);
    EXPECT_THAT(response.body, HasSubstr("Lock lost"));
    EXPECT_EQ(a_.get("/x").body, "old");
}

TEST_P(HengdangWrite, ThatHasLostItsLockToAnotherIsToldToWhom) {
    EXPECT_EQ(a_.put("/x", "old").status, 201);
    begin_half(a_, "/x", long_bytes);
    EXPECT_EQ(b_.put("/x", "no").status, 423);
    host_.advance(1800s);
    EXPECT_EQ(b_.put("/x", "new").status, 200);
    EXPECT_EQ(b_.get("/x?lock=acquire").status, 200);
    a_.connection().send(std::string(long_bytes / 2, 'h'));
    const auto response = a_.connection().response();
    EXPECT_EQ(response.status, 423);
    EXPECT_THAT(response.body, HasSubstr(R"("lockedBy":")" + b_.name));
    EXPECT_EQ(a_.get("/x").body, "new");
}

TEST_P(HengdangWrite, ThatIsForcedOutChangesNothing) {
    EXPECT_EQ(a_.put("/x", "old").status, 201);
    begin_half(a_, "/x", long_bytes);
    EXPECT_EQ(b_.ask({.line = "DELETE /auth/sessions/" + a_.name}).status, 204);
    b_.wait_for_lock("/x", false);
    a_.connection().send(std::string(long_bytes / 2, 'h'));
    EXPECT_EQ(a_.connection().response().status, 401);
    EXPECT_EQ(b_.get("/x").body, "old");
}

TEST_P(HengdangWrite, WhoseConnectionBreaksChangesNothingAndGivesItsLockBack) {
    EXPECT_EQ(b_.put("/x", "old").status, 201);
    FilesClient broken = FilesClient::logged_in(host_);
    begin_half(broken, "/x", long_bytes);
    broken.connection().reset();
    b_.wait_for_lock("/x", false);
    EXPECT_EQ(b_.get("/x").body, "old");
    EXPECT_EQ(b_.put("/x", "new").status, 200);
}

TEST_P(HengdangWrite, OfASessionWithTwoConnectionsLandsOnOneLock) {
    FilesClient again(host_);
    again.id = a_.id;
    begin_half(a_, "/x", long_bytes);
    EXPECT_EQ(again.put("/x", "short").status, 201);
    EXPECT_EQ(b_.put("/x", "no").status, 423) << "the first write still has the lock";
    a_.connection().send(std::string(long_bytes / 2, 'h'));
    EXPECT_EQ(a_.connection().response().status, 200);
    EXPECT_EQ(b_.put("/x", "free").status, 200);
}

TEST_P(HengdangWrite, ContendsWithTheOtherDoors) {
    EXPECT_EQ(a_.get("/x?lock=acquire").status, 200);
    const auto held =
        ask_locks("POST /v1/leases", R"({"scope":"path:/x","holder":"tool","duration_ms":1000})");
    EXPECT_EQ(held.status, 409);
    EXPECT_THAT(held.body, HasSubstr(a_.name));
    EXPECT_THAT(ask_locks("GET /v1/leases?kind=path").body, HasSubstr("hengdang"));
    take_lease("path:/y");
    const auto locked = a_.put("/y", "hi");
    EXPECT_EQ(locked.status, 423);
    EXPECT_THAT(locked.body, HasSubstr(R"("lockedBy":"tool")"));
}

// A byte now and then keeps a request going, but not for ever: the average counts. The pace that is
// asked for here is beyond any machine, and so is the length.
TEST(HengdangPace, AnUploadThatTricklesIsEndedAndLeavesNoLock) {
    FilesHost host(1, [](app::ServeOptions& options) {
        options.http_request_timeout = 200ms;
        options.files_pace_min = 1'000'000'000'000;
    });
    FilesClient a = FilesClient::logged_in(host), b = FilesClient::logged_in(host);
    EXPECT_EQ(b.put("/x", "old").status, 201);
    net::TestClient& trickle = a.connection();
    trickle.send("PUT /x HTTP/1.1\r\nHost: files\r\nAuthorization: Bearer " + a.id +
                 "\r\nContent-Length: 1000000000\r\n\r\n");
    constexpr int attempts = 10'000;
    int attempt = 0;
    while (attempt < attempts && !trickle.has_input(1ms)) {
        trickle.try_send("h");
        ++attempt;
    }
    ASSERT_LT(attempt, attempts) << "it is taken as long as it comes";
    EXPECT_EQ(trickle.response().status, 408);
    b.wait_for_lock("/x", false);
    EXPECT_EQ(b.get("/x").body, "old");
}

TEST_P(HengdangWrite, LoggingOutGivesAllLocksBackAlsoAfterARestart) {
    for (const char* path : {"/x", "/y", "/z"}) {
        EXPECT_EQ(a_.get(std::string(path) + "?lock=acquire").status, 200);
    }
    host_.restart();
    FilesClient a(host_), b(host_);
    a.id = a_.id;
    b.id = b_.id;
    EXPECT_EQ(b.put("/x", "no").status, 423) << "sessions and locks outlive the server";
    EXPECT_EQ(a.ask({.line = "DELETE /auth/session"}).status, 204);
    for (const char* path : {"/x", "/y", "/z"}) EXPECT_EQ(b.put(path, "hi").status, 201) << path;
    EXPECT_EQ(a.get("/x").status, 401);
}

TEST_P(HengdangWrite, ALockThatEndsWithItsLoginIsShownAsEndedWithItsSession) {
    const auto ending_of = [this](const std::string& path) {
        return field_of(ask_locks("GET /v1/history?scope=path:" + path).body, "ended");
    };
    for (const char* path : {"/given", "/logout"}) {
        EXPECT_EQ(a_.get(std::string(path) + "?lock=acquire").status, 200);
    }
    EXPECT_EQ(b_.get("/ended?lock=acquire").status, 200);
    EXPECT_EQ(a_.get("/given?lock=release").status, 200);
    EXPECT_EQ(a_.ask({.line = "DELETE /auth/sessions/" + b_.name}).status, 204);
    EXPECT_EQ(a_.ask({.line = "DELETE /auth/session"}).status, 204);
    EXPECT_EQ(ending_of("/given"), "released");
    EXPECT_EQ(ending_of("/logout"), "session");
    EXPECT_EQ(ending_of("/ended"), "session");
}

TEST_P(HengdangWrite, AnUploadThatAStoppedServerTookWithItLeavesNoLock) {
    begin_half(a_, "/x", long_bytes);
    host_.restart();
    FilesClient b(host_);
    b.id = b_.id;
    EXPECT_EQ(b.put("/x", "hi").status, 201);
}

TEST_P(HengdangWrite, WhoeverAsksBeforeItSendsIsToldOfTheLockFirst) {
    const auto ask_first = [](FilesClient& client) {
        client.connection().send("PUT /x HTTP/1.1\r\nHost: files\r\nAuthorization: Bearer " +
                                 client.id +
                                 "\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    };
    EXPECT_EQ(a_.get("/x?lock=acquire").status, 200);
    ask_first(b_);
    EXPECT_EQ(b_.connection().response().status, 423) << "and not 100";
    EXPECT_EQ(b_.connection().read_to_end(), "");
    ask_first(a_);
    EXPECT_EQ(a_.connection().read(25), "HTTP/1.1 100 Continue\r\n\r\n");
    a_.connection().send("hello");
    EXPECT_EQ(a_.connection().response().status, 201);
}

TEST_P(HengdangWrite, ALockAskedForDuringAnUploadOutlivesTheServer) {
    begin_half(a_, "/x", long_bytes);
    FilesClient again(host_);
    again.id = a_.id;
    EXPECT_EQ(again.get("/x?lock=acquire").status, 200);
    host_.restart();
    FilesClient b(host_);
    b.id = b_.id;
    EXPECT_EQ(b.put("/x", "hi").status, 423);
}

// What each of a crowd has written last must be what is there, and nobody's ETag comes twice.
TEST_P(HengdangWrite, ACrowdLeavesOneOfItsContents) {
    constexpr int clients = 100;
    std::mutex mutex;
    std::vector<std::string> etags;
    std::atomic<int> locked = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < clients; ++i) {
        threads.emplace_back([&, i] {
            // Every second one has a session of its own; the others share one.
            FilesClient client = i % 2 == 0 ? FilesClient::logged_in(host_) : FilesClient(host_);
            if (i % 2 == 1) client.id = a_.id;
            const auto response = client.put("/x", std::string(static_cast<std::size_t>(1000 + i),
                                                               static_cast<char>('a' + i % 26)));
            if (response.status == 423) return void(++locked);
            EXPECT_THAT(response.status, AnyOf(200, 201)) << response.body;
            const std::lock_guard lock(mutex);
            etags.push_back(header_of(response, "ETag"));
        });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_FALSE(etags.empty());
    const auto response = b_.get("/x");
    ASSERT_GE(response.body.size(), 1000U);
    const std::size_t writer = response.body.size() - 1000;
    EXPECT_EQ(response.body,
              std::string(response.body.size(), static_cast<char>('a' + writer % 26)));
    // Times grow with every version, so ordered by them the last is what is there.
    const auto time_of = [](const std::string& etag) { return etag.substr(etag.find('-')); };
    std::sort(etags.begin(), etags.end(), [&](const std::string& one, const std::string& other) {
        return time_of(one) < time_of(other);
    });
    EXPECT_EQ(etags.back(), header_of(response, "ETag"));
    for (std::size_t i = 1; i < etags.size(); ++i) {
        EXPECT_LT(time_of(etags[i - 1]), time_of(etags[i]));
    }
    b_.wait_for_lock("/x", false);
}

}  // namespace
}  // namespace holdfast::conformance
