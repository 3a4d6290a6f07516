// Writes with a Lock-Token: a lease that was taken at the door of the locks stands in for the lock.

#include <gmock/gmock.h>

#include <atomic>
#include <string>
#include <thread>

#include "write_test.h"

namespace holdfast::conformance {
namespace {

using ::testing::HasSubstr;

class HengdangToken : public HengdangWriteTest {};
INSTANTIATE_TEST_SUITE_P(Threads, HengdangToken, ::testing::Values(1, 3));

constexpr std::size_t upload_bytes = 300'000;

// The lease of the token lives on: it is the session that has no right to write any more.
TEST_P(HengdangToken, OfASessionThatHasEndedChangesNothing) {
    EXPECT_EQ(a_.put("/x", "old").status, 201);
    const std::string token = take_lease("path:/x");
    begin_asked(a_, "/x", {"Lock-Token: " + token});
    EXPECT_EQ(b_.ask({.line = "DELETE /auth/sessions/" + a_.name}).status, 204);
    a_.connection().send("hello");
    const auto response = a_.connection().response();
    EXPECT_EQ(response.status, 401);
    EXPECT_EQ(field_of(response.body, "error"), "Invalid session");
    EXPECT_EQ(b_.get("/x").body, "old");
}

TEST_P(HengdangToken, OfASessionThatHasExpiredChangesNothing) {
    host_.advance(24h * 7 - 10min);
    FilesClient c = FilesClient::logged_in(host_);
    EXPECT_EQ(c.put("/x", "old").status, 201);
    const std::string token = take_lease("path:/x", R"(,"duration_ms":3600000)");
    begin_asked(a_, "/x", {"Lock-Token: " + token});
    host_.advance(10min);
    a_.connection().send("hello");
    EXPECT_EQ(a_.connection().response().status, 401);
    EXPECT_EQ(c.get("/x").body, "old");
}

TEST_P(HengdangToken, ATokenOfTheFileStandsInForTheLock) {
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

TEST_P(HengdangToken, ATokenOfSomethingElseIsRefused) {
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

TEST_P(HengdangToken, ATokenThatEndsDuringTheUploadLandsNothing) {
    EXPECT_EQ(a_.put("/x", std::string(upload_bytes, 'o')).status, 201);
    const std::string token = take_lease("path:/x");
    a_.connection().send("PUT /x HTTP/1.1\r\nHost: files\r\nLock-Token: " + token +
                         "\r\nAuthorization: Bearer " + a_.id +
                         "\r\nContent-Length: " + std::to_string(upload_bytes) + "\r\n\r\n" +
                         std::string(upload_bytes / 2, 'n'));
    host_.pause();
    host_.advance(30s);
    a_.connection().send(std::string(upload_bytes / 2, 'n'));
    EXPECT_EQ(a_.connection().response().status, 410);
    EXPECT_EQ(b_.get("/x").body, std::string(upload_bytes, 'o'));
}

TEST_P(HengdangToken, HoldersOfDisjointRangesWriteOneFileTogether) {
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

TEST_P(HengdangToken, HoldersOfDisjointRangesMayHaveSessionsOfTheirOwn) {
    EXPECT_EQ(a_.put("/x", std::string(20, '.')).status, 201);
    const std::string inode = header_of(a_.get("/x"), "X-Inode");
    std::atomic<int> failures = 0;
    const auto write = [&](const std::string& token, std::size_t start) {
        FilesClient client = FilesClient::logged_in(host_);
        for (int i = 0; i < 30; ++i) {
            const auto request = patch("/x", start, std::string(10, static_cast<char>('a' + i)));
            if (write_with(client, token, request).status != 200) ++failures;
        }
    };
    std::thread one([&, token = take_lease("range:" + inode + ":0-10")] { write(token, 0); });
    std::thread two([&, token = take_lease("range:" + inode + ":10-20")] { write(token, 10); });
    one.join();
    two.join();
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(a_.get("/x").body, std::string(20, 'a' + 29));
    b_.wait_for_lock("/x", false);
}

TEST_P(HengdangToken, TheLockOnThePathWinsOverALeaseOfItsBytes) {
    EXPECT_EQ(a_.put("/x", "0123456789").status, 201);
    const std::string inode = header_of(a_.get("/x"), "X-Inode");
    const std::string whole = take_lease("inode:" + inode);
    EXPECT_EQ(b_.get("/x?lock=acquire").status, 200);
    const auto expect_locked = [&](const net::TestResponse& response) {
        EXPECT_EQ(response.status, 423) << response.body;
        EXPECT_THAT(response.body, HasSubstr(R"("lockedBy":")" + b_.name));
    };
    expect_locked(write_with(a_, whole, {.line = "PUT /x", .body = "no"}));
    expect_locked(write_with(a_, whole, patch("/x", 0, "no")));
    expect_locked(write_with(a_, whole, {.line = "DELETE /x"}));
    EXPECT_EQ(b_.get("/x").body, "0123456789");
    EXPECT_EQ(write_with(b_, whole, patch("/x", 0, "b")).status, 200) << "its own lock";
    expect_locked(write_with(a_, whole, patch("/x", 0, "no")));
    EXPECT_EQ(b_.get("/x?lock=release").status, 200) << "that write has left it";
    EXPECT_EQ(write_with(a_, whole, patch("/x", 1, "a")).status, 200);
    EXPECT_EQ(b_.get("/x").body, "ba23456789");
    EXPECT_EQ(ask_locks("POST /v1/leases", R"({"scope":"path:/x","holder":"other"})").status, 200);
    EXPECT_EQ(write_with(a_, whole, patch("/x", 1, "no")).status, 423) << "of another door";
}

TEST_P(HengdangToken, TheLockOnThePathWinsAlsoIfItIsTakenDuringTheUpload) {
    EXPECT_EQ(a_.put("/x", "old").status, 201);
    const std::string inode = header_of(a_.get("/x"), "X-Inode");
    begin_asked(a_, "/x", {"Lock-Token: " + take_lease("inode:" + inode)});
    EXPECT_EQ(b_.get("/x?lock=acquire").status, 200);
    a_.connection().send("hello");
    const auto response = a_.connection().response();
    EXPECT_EQ(response.status, 423);
    EXPECT_THAT(response.body, HasSubstr(R"("lockedBy":")" + b_.name));
    EXPECT_EQ(b_.get("/x").body, "old");
}

}  // namespace
}  // namespace holdfast::conformance
