#pragma once

// HengdangWriteTest: a server with a door for files, two clients, and ways to begin a write and to
// hold it up.

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "files_host.h"

namespace holdfast::conformance {

class HengdangWriteTest : public ::testing::TestWithParam<std::size_t> {
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
    // Begins a PUT of five bytes, and waits until the server asks for them.
    void begin_asked(FilesClient& client, const std::string& path,
                     const std::vector<std::string>& headers) {
        FileRequest request{.line = "PUT " + path, .body = "hello", .headers = headers};
        request.headers.emplace_back("Expect: 100-continue");
        std::string bytes = client.bytes_of(request);
        bytes.resize(bytes.size() - request.body.size());
        client.connection().send(bytes);
        EXPECT_EQ(client.connection().read(25), "HTTP/1.1 100 Continue\r\n\r\n");
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

}  // namespace holdfast::conformance
