// The same door as bytes on a connection: cut anywhere, very long, and spelt to lead astray.

#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

#include "files_host.h"

namespace holdfast::conformance {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class HengdangWire : public ::testing::TestWithParam<std::size_t> {
  protected:
    FilesHost host_{GetParam(), [](app::ServeOptions& options) { options.is_in_memory = true; }};
    FilesClient a_ = FilesClient::logged_in(host_);
};
INSTANTIATE_TEST_SUITE_P(Threads, HengdangWire, ::testing::Values(1, 3));

TEST_P(HengdangWire, RequestsAreAnsweredWhereverTheyAreCut) {
    const std::vector<std::pair<FileRequest, std::string>> exchanges{
        {{.line = "PUT /x", .body = "hello"}, R"("size":5)"},
        {{.line = "PATCH /x", .body = "e", .headers = {"Content-Range: bytes 1-1/*"}},
         R"("size":5)"},
        {{.line = "GET /x", .headers = {"Range: bytes=1-3"}}, "ell"},
        {{.line = "GET /x?lock=acquire"}, "Lock acquired"},
        {{.line = "GET /?limit=5"}, R"("path":"/x")"}};
    for (const auto& [request, part] : exchanges) {
        const std::string bytes = a_.bytes_of(request);
        for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
            net::TestClient client = host_.connect();
            client.send(bytes.substr(0, cut));
            host_.pause();
            client.send(bytes.substr(cut));
            const auto response = client.response();
            ASSERT_THAT(response.status, AnyOf(200, 201, 206)) << bytes.substr(0, cut);
            ASSERT_THAT(response.body, HasSubstr(part)) << bytes.substr(0, cut);
        }
    }
}

TEST_P(HengdangWire, APutCutShortChangesNothing) {
    EXPECT_EQ(a_.put("/x", "old").status, 201);
    const std::string bytes = a_.bytes_of({.line = "PUT /x", .body = "hello"});
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
        net::TestClient client = host_.connect();
        client.send(bytes.substr(0, cut));
        client.finish_sending();
        ASSERT_EQ(client.read_to_end().find("HTTP/1.1 2"), std::string::npos) << cut;
    }
    a_.wait_for_lock("/x", false);
    EXPECT_EQ(a_.get("/x").body, "old");
}

TEST_P(HengdangWire, PipelinedRequestsAreAnsweredInOrder) {
    net::TestClient& connection = a_.connection();
    a_.send({.line = "PUT /x", .body = "one"});
    a_.send({.line = "GET /x?lock=status"});
    a_.send({.line = "PUT /y", .body = "two"});
    a_.send({.line = "GET /nothing"});
    EXPECT_THAT(connection.response().body, HasSubstr(R"("path":"/x")"));
    EXPECT_THAT(connection.response().body, HasSubstr(R"("ownedByThisSession":)"));
    EXPECT_THAT(connection.response().body, HasSubstr(R"("path":"/y")"));
    EXPECT_EQ(connection.response().status, 404);
}

TEST_P(HengdangWire, LongFilesGoBothWaysUnchanged) {
    std::string content(5'000'000, '\0');
    for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 >> 3);
    EXPECT_EQ(a_.put("/x", content).status, 201);
    EXPECT_TRUE(a_.get("/x").body == content);
    const auto part = a_.ask({.line = "GET /x", .headers = {"Range: bytes=1000000-3999999"}});
    EXPECT_EQ(part.status, 206);
    EXPECT_TRUE(part.body == content.substr(1'000'000, 3'000'000));
    const auto head = a_.ask({.line = "HEAD /x"});
    EXPECT_EQ(header_of(head, "Content-Length"), "5000000");
    EXPECT_EQ(a_.get("/x?lock=status").status, 200) << "the connection goes on";
}

TEST_P(HengdangWire, ChunkedBodiesAreTaken) {
    a_.connection().send("PUT /x HTTP/1.1\r\nHost: files\r\nAuthorization: Bearer " + a_.id +
                         "\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n"
                         "0\r\n\r\n");
    EXPECT_EQ(a_.connection().response().status, 201);
    EXPECT_EQ(a_.get("/x").body, "hello world");
}

TEST_P(HengdangWire, AShortRefusedBodyLeavesTheConnectionInUse) {
    FilesClient b = FilesClient::logged_in(host_);
    EXPECT_EQ(b.get("/x?lock=acquire").status, 200);
    EXPECT_EQ(a_.put("/x", "hello").status, 423);
    EXPECT_EQ(a_.put("/y", "hello").status, 201);
}

TEST_P(HengdangWire, ALongBodyIsRefusedBeforeItIsSent) {
    FilesClient b = FilesClient::logged_in(host_);
    EXPECT_EQ(b.get("/x?lock=acquire").status, 200);
    a_.connection().send("PUT /x HTTP/1.1\r\nHost: files\r\nAuthorization: Bearer " + a_.id +
                         "\r\nContent-Length: 5000000000\r\n\r\nbegin");
    EXPECT_EQ(a_.connection().response().status, 423);
    a_.connection().finish_sending();
    EXPECT_EQ(a_.connection().read_to_end(), "") << "and the connection closes";
}

TEST_P(HengdangWire, AnEmptyBodyIsNotWaitedForThoughItsClientAsksBeforeItSends) {
    const std::vector<std::string> headers{"Expect: 100-continue", "If-None-Match: *"};
    EXPECT_EQ(a_.ask({.line = "PUT /x", .headers = headers}).status, 201);
    EXPECT_EQ(a_.ask({.line = "PUT /x", .headers = headers}).status, 412);
    EXPECT_EQ(a_.ask({.line = "PUT /y", .headers = {"Expect: 100-continue"}}).status, 201);
    EXPECT_EQ(a_.get("/x?lock=status").status, 200) << "the connection goes on";
}

// None of these may reach what is beside the root.
TEST_P(HengdangWire, NoPathLeadsOutOfTheRoot) {
    files::testing::write_foreign_file(host_.real("/../outside"), "secret");
    std::filesystem::create_directory_symlink(host_.real("/.."), host_.real("/link"));
    for (const std::string path : {"/../outside",
                                   "/..",
                                   "/../",
                                   "/./x",
                                   "/x/../../outside",
                                   "/x/..",
                                   "/%2e%2e/outside",
                                   "/%2E%2E/outside",
                                   "/.%2e/outside",
                                   "/%2e./outside",
                                   "/%2e%2e%2foutside",
                                   "/x%2f..%2f..%2foutside",
                                   "/..%2foutside",
                                   "/%2e",
                                   "/x/%2e/y",
                                   "//outside",
                                   "/x//y",
                                   "/x%2f%2fy",
                                   "/%00",
                                   "/x%00y",
                                   "/..%00/outside",
                                   "/x%0ay",
                                   "/x%0d%0ay",
                                   "/%7f",
                                   "/x%09",
                                   "/%c2%80",
                                   "/%c0%ae%c0%ae/outside",
                                   "/%ff",
                                   "/%",
                                   "/%2",
                                   "/%zz",
                                   "/x%",
                                   "/.holdfast",
                                   "/.holdfast/",
                                   "/.HOLDFAST/sessions",
                                   "/%2eholdfast/tmp",
                                   "outside",
                                   "*",
                                   "http://x/../outside"}) {
        for (const char* method : {"GET", "HEAD", "PUT", "DELETE", "POST"}) {
            const auto response = a_.ask({.line = std::string(method) + " " + path});
            EXPECT_EQ(response.status, 400) << method << " " << path << "\n" << response.body;
        }
    }
    // A link is nothing that is served, whatever is behind it.
    for (const std::string path : {"/link/outside", "/link/", "/link"}) {
        EXPECT_EQ(a_.get(path).status, 404) << path;
        EXPECT_EQ(a_.put(path + "/x", "hi").status, path.ends_with('/') ? 400 : 409) << path;
    }
    EXPECT_EQ(a_.get("/" + std::string(4096, 'x')).status, 400);
    EXPECT_EQ(a_.get("/" + std::string(256, 'x')).status, 400);
    EXPECT_FALSE(std::filesystem::exists(host_.real("/../x")));
}

// A stream of events, as far as it has come.
std::string read_until(net::TestClient& client, const std::string& part) {
    std::string text;
    while (text.find(part) == std::string::npos) {
        const std::string byte = client.read(1);
        if (byte.empty()) break;
        text += byte;
    }
    return text;
}

TEST_P(HengdangWire, ChangesAreToldToThoseWhoWatch) {
    FilesClient watcher(host_);
    watcher.id = a_.id;
    watcher.send({.line = "GET /events/stream?path=/d"});
    const std::string begin = read_until(watcher.connection(), "\n\n");
    EXPECT_THAT(begin, HasSubstr("Content-Type: text/event-stream\r\n"));
    EXPECT_THAT(begin,
                HasSubstr("\r\ndata: {\"type\":\"connected\",\"path\":\"/d\",\"timestamp\":"));
    EXPECT_EQ(a_.put("/elsewhere", "hi").status, 201);
    EXPECT_EQ(a_.ask({.line = "POST /d/"}).status, 201);
    const auto put = a_.put("/d/x", "hi");
    EXPECT_EQ(a_.ask({.line = "DELETE /d/x"}).status, 204);
    EXPECT_EQ(a_.ask({.line = "DELETE /d/"}).status, 204);
    const std::string told = read_until(watcher.connection(), "RMDIR");
    EXPECT_THAT(told, HasSubstr(R"(data: {"type":"directory_change","operation":"MKDIR",)"
                                R"("path":"/d/","timestamp":)"));
    EXPECT_THAT(told, HasSubstr(R"(data: {"type":"file_change","operation":"PUT","path":"/d/x",)"));
    EXPECT_THAT(told, HasSubstr(R"("etag":"\")"));
    EXPECT_THAT(told, HasSubstr(R"({"type":"file_change","operation":"DELETE","path":"/d/x")"));
    EXPECT_THAT(told, ::testing::Not(HasSubstr("event:"))) << "onmessage gets no others";
    EXPECT_THAT(told, ::testing::Not(HasSubstr("elsewhere")));
    EXPECT_EQ(a_.ask({.line = "DELETE /auth/session"}).status, 204);
    FilesClient b = FilesClient::logged_in(host_);
    EXPECT_EQ(b.put("/d/y", "hi").status, 201);
    EXPECT_THAT(read_until(watcher.connection(), "\r\n0\r\n\r\n"),
                ::testing::Not(HasSubstr("/d/y")))
        << "who has logged out is told no more";
}

TEST_P(HengdangWire, AWatcherNamesWhatItWants) {
    FilesClient watcher(host_);
    watcher.id = a_.id;
    watcher.send({.line = "GET /events/stream?path=%2Fa%2520b%2F%2F*"});
    EXPECT_THAT(read_until(watcher.connection(), "\n\n"), HasSubstr(R"("path":"/a%20b/*")"));
    EXPECT_EQ(a_.ask({.line = "POST /a%20b"}).status, 201);
    EXPECT_EQ(a_.put("/a", "hi").status, 201);
    EXPECT_EQ(a_.put("/a%20b/x%20y", "hi").status, 201);
    const std::string told = read_until(watcher.connection(), "\n\n");
    EXPECT_THAT(told, HasSubstr(R"("operation":"PUT","path":"/a%20b/x%20y")"));
    for (const char* filter : {"x", "%2F100%25", "/../x", "/a//b", "%zz"}) {
        const auto refused = a_.get("/events/stream?path=" + std::string(filter));
        EXPECT_EQ(refused.status, 400) << filter;
        EXPECT_THAT(refused.body, HasSubstr(R"("message":)")) << filter;
    }
}

}  // namespace
}  // namespace holdfast::conformance
