// Writes that meet: locks that are lost on the way, tokens, regions, crowds.

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "files_host.h"

namespace holdfast::conformance {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class HengdangWrite : public ::testing::TestWithParam<std::size_t> {
  protected:
    // Begins a PUT of so many bytes, of which half are sent, and waits until it has its lock.
    void begin_half(FilesClient& client, const std::string& path, std::size_t bytes) {
        client.connection().send("PUT " + path +
                                 " HTTP/1.1\r\nHost: files\r\nAuthorization: Bearer " + client.id +
                                 "\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n" +
                                 std::string(bytes / 2, 'h'));
        b_.wait_for_lock(path, true);
    }

    // Asks the door of the locks.
    net::TestResponse ask_locks(const std::string& line, const std::string& body = "") {
        net::TestClient client = host_.connect_to_locks();
        client.send(to_bytes({.line = line,
                              .body = body,
                              .headers = {"Authorization: Bearer " + std::string(files_secret)}}));
        return client.response();
    }
    std::string take_lease(const std::string& scope, const std::string& rest = "") {
        const auto response = ask_locks(
            "POST /v1/leases", R"({"scope":")" + scope + R"(","holder":"tool")" + rest + "}");
        EXPECT_EQ(response.status, 200) << response.body;
        return field_of(response.body, "token");
    }
    net::TestResponse write_with(FilesClient& client, const std::string& token,
                                 FileRequest request) {
        request.headers.push_back("Lock-Token: " + token);
        return client.ask(request);
    }
    // A PATCH of `body` at `start`.
    static FileRequest patch(const std::string& path, std::size_t start, const std::string& body) {
        return {.line = "PATCH " + path,
                .body = body,
                .headers = {"Content-Range: bytes " + std::to_string(start) + "-" +
                            std::to_string(start + body.size() - 1) + "/*"}};
    }

    FilesHost host_{GetParam(),
                    [](app::ServeOptions& options) { options.shutdown_timeout = 100ms; }};
    FilesClient a_ = FilesClient::logged_in(host_);
    FilesClient b_ = FilesClient::logged_in(host_);
};
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
    EXPECT_EQ(a_.connection().response().status, 423);
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

TEST_P(HengdangWrite, ATokenOfTheFileStandsInForTheLock) {
    EXPECT_EQ(a_.put("/x", "0123456789").status, 201);
    const std::string inode = header_of(a_.get("/x"), "X-Inode");
    const std::string path_token = take_lease("path:/x");
    EXPECT_EQ(a_.put("/x", "no").status, 423);
    EXPECT_EQ(write_with(a_, path_token, {.line = "PUT /x", .body = "abcdefghij"}).status, 200);
    EXPECT_EQ(write_with(b_, path_token, patch("/x", 0, "A")).status, 200);
    const std::string inode_token = take_lease("inode:" + inode);
    EXPECT_EQ(write_with(a_, inode_token, patch("/x", 1, "B")).status, 200);
    EXPECT_EQ(a_.get("/x").body, "ABcdefghij");
    EXPECT_EQ(write_with(a_, path_token, {.line = "DELETE /x"}).status, 204);
}

TEST_P(HengdangWrite, ATokenOfSomethingElseIsRefused) {
    EXPECT_EQ(a_.put("/x", "0123456789").status, 201);
    EXPECT_EQ(a_.put("/y", "0123456789").status, 201);
    const std::string inode = header_of(a_.get("/x"), "X-Inode");
    const std::string range = take_lease("range:" + inode + ":2-4");
    const auto expect = [&](const net::TestResponse& response, int status, const char* error) {
        EXPECT_EQ(response.status, status);
        EXPECT_EQ(field_of(response.body, "error"), error);
    };
    expect(write_with(a_, range, patch("/x", 1, "ab")), 409, "LockScopeMismatch");
    expect(write_with(a_, range, patch("/x", 3, "ab")), 409, "LockScopeMismatch");
    expect(write_with(a_, range, patch("/y", 2, "ab")), 409, "LockScopeMismatch");
    expect(write_with(a_, range, {.line = "PUT /x", .body = "ab"}), 409, "LockScopeMismatch");
    expect(write_with(a_, range, {.line = "PUT /new", .body = "ab"}), 409, "LockScopeMismatch");
    expect(write_with(a_, range, {.line = "DELETE /x"}), 409, "LockScopeMismatch");
    const std::string nothing = take_lease("inode:0");
    expect(write_with(a_, nothing, {.line = "PUT /new", .body = "ab"}), 409, "LockScopeMismatch");
    const std::string other = take_lease("named:x");
    expect(write_with(a_, other, {.line = "PUT /x", .body = "ab"}), 409, "LockScopeMismatch");
    const std::string shared = take_lease("path:/x", R"(,"mode":"shared")");
    expect(write_with(a_, shared, {.line = "PUT /x", .body = "ab"}), 409, "LockScopeMismatch");
    expect(write_with(a_, "nonsense", {.line = "PUT /x", .body = "ab"}), 404, "LockNotFound");
    expect(write_with(a_, std::string(32, '0'), patch("/x", 0, "a")), 404, "LockNotFound");
    host_.advance(30s);
    expect(write_with(a_, range, patch("/x", 2, "ab")), 410, "LockExpired");
    FilesClient stranger(host_);
    EXPECT_EQ(write_with(stranger, range, patch("/x", 2, "ab")).status, 401);
    EXPECT_EQ(a_.get("/x").body, "0123456789");
}

TEST_P(HengdangWrite, ATokenThatEndsDuringTheUploadLandsNothing) {
    EXPECT_EQ(a_.put("/x", std::string(long_bytes, 'o')).status, 201);
    const std::string token = take_lease("path:/x");
    a_.connection().send("PUT /x HTTP/1.1\r\nHost: files\r\nLock-Token: " + token +
                         "\r\nAuthorization: Bearer " + a_.id +
                         "\r\nContent-Length: " + std::to_string(long_bytes) + "\r\n\r\n" +
                         std::string(long_bytes / 2, 'n'));
    host_.pause();
    host_.advance(30s);
    a_.connection().send(std::string(long_bytes / 2, 'n'));
    EXPECT_EQ(a_.connection().response().status, 410);
    EXPECT_EQ(b_.get("/x").body, std::string(long_bytes, 'o'));
}

TEST_P(HengdangWrite, HoldersOfDisjointRangesWriteOneFileTogether) {
    EXPECT_EQ(a_.put("/x", std::string(20, '.')).status, 201);
    const std::string inode = header_of(a_.get("/x"), "X-Inode");
    const std::string left = take_lease("range:" + inode + ":0-10");
    const std::string right = take_lease("range:" + inode + ":10-20");
    constexpr int writes = 30;
    std::atomic<int> failures = 0;
    const auto write = [&](const std::string& token, std::size_t start, char letter) {
        FilesClient client(host_);
        client.id = a_.id;
        for (int i = 0; i < writes; ++i) {
            const std::string body(10, static_cast<char>(letter + i % 26));
            if (write_with(client, token, patch("/x", start, body)).status != 200) ++failures;
        }
    };
    std::thread one([&] { write(left, 0, 'a'); });
    std::thread two([&] { write(right, 10, 'A'); });
    one.join();
    two.join();
    EXPECT_EQ(failures, 0);
    const int last = (writes - 1) % 26;
    EXPECT_EQ(a_.get("/x").body, std::string(10, static_cast<char>('a' + last)) +
                                     std::string(10, static_cast<char>('A' + last)));
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
