#pragma once

// FilesHost: a whole server with a door for files, whose clock the test moves; and its clients.

#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "app/host.h"
#include "files/login/test_nostr.h"
#include "files/tree/test_tree.h"
#include "net/loop/test_client.h"
#include "service/ports/clock.h"

namespace holdfast::conformance {

using namespace std::chrono_literals;

inline constexpr std::string_view files_secret = "the-secret-of-the-house";
inline constexpr std::int64_t files_start_ms = 1'705'314'600'000;  // 2024-01-15T10:30:00Z

class FilesHost {
  public:
    explicit FilesHost(std::size_t threads, std::function<void(app::ServeOptions&)> change = {})
        : options_({.http_address = "127.0.0.1:0",
                    .files_address = "127.0.0.1:0",
                    .auth_token = std::string(files_secret),
                    .data_folder = folder_ / "data",
                    .threads = threads}) {
        options_.files.root = folder_ / "root";
        options_.files.owner_keys = {owner_.public_key()};
        if (change) change(options_);
        start();
    }
    ~FilesHost() { stop(); }
    FilesHost(const FilesHost&) = delete;
    FilesHost& operator=(const FilesHost&) = delete;

    void restart() {
        stop();
        start();
    }
    void advance(core::Duration step) {
        clock_.advance(step);
        host_->wake();
    }
    // Gives the server a chance to read what was sent so far.
    void pause() { host_->wake(); }
    // The server is told to end, and knows of it. REQUIRES: something in flight holds up its end.
    void begin_stop() {
        host_->shut_down();
        host_->wake();
    }

    [[nodiscard]] net::TestClient connect() { return net::TestClient(host_->endpoint("files")); }
    [[nodiscard]] net::TestClient connect_to_locks() {
        return net::TestClient(host_->endpoint("http"));
    }
    [[nodiscard]] std::string login_url() const {
        return "http://" + net::to_text(host_->endpoint("files")) + "/auth/session";
    }
    [[nodiscard]] std::string port() const {
        return std::to_string(host_->endpoint("files").port());
    }
    [[nodiscard]] std::uint16_t locks_port() const { return host_->endpoint("http").port(); }
    [[nodiscard]] const files::testing::NostrSigner& owner() const { return owner_; }
    [[nodiscard]] std::int64_t now_s() const {
        const auto now = clock_.wall(clock_.now()).time_since_epoch();
        return std::chrono::floor<std::chrono::seconds>(now).count();
    }
    // Where a path lies for other programs.
    [[nodiscard]] std::string real(const std::string& path) const {
        return folder_ / ("root" + path);
    }

  private:
    void start() {
        host_ = app::Host::start(options_, clock_).value();
        thread_ = std::thread([this] { host_->run(); });
    }
    void stop() {
        host_->shut_down();
        thread_.join();
        host_.reset();
    }

    const files::testing::TemporaryFolder folder_;
    const files::testing::NostrSigner owner_{7};
    service::ManualClock clock_{service::WallTime{std::chrono::milliseconds{files_start_ms}}};
    app::ServeOptions options_;
    std::unique_ptr<app::Host> host_;
    std::thread thread_;
};

// The value of a header; empty if it is not there.
inline std::string header_of(const net::TestResponse& response, const std::string& name) {
    const std::string start = "\r\n" + name + ": ";
    const auto at = response.header.find(start);
    if (at == std::string::npos) return "";
    const auto begin = at + start.size();
    return response.header.substr(begin, response.header.find("\r\n", begin) - begin);
}

// The text of a field in a body of JSON.
inline std::string field_of(const std::string& json, const std::string& name) {
    const std::string start = "\"" + name + "\":\"";
    const auto at = json.find(start);
    if (at == std::string::npos) return "";
    const auto begin = at + start.size();
    return json.substr(begin, json.find('"', begin) - begin);
}

struct FileRequest {
    std::string line;  // `PUT /a`
    std::string body = {};
    std::vector<std::string> headers = {};  // `If-Match: "x"`
};

inline std::string to_bytes(const FileRequest& request) {
    std::string bytes = request.line + " HTTP/1.1\r\nHost: files\r\n";
    for (const std::string& header : request.headers) bytes += header + "\r\n";
    const bool has_body = !request.body.empty() || request.line.starts_with("P");
    if (has_body) bytes += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
    return bytes + "\r\n" + request.body;
}

// FilesClient: one connection, and a session once it has logged in.
class FilesClient {
  public:
    explicit FilesClient(FilesHost& host) : client_(host.connect()) {}

    static FilesClient logged_in(FilesHost& host) {
        FilesClient client(host);
        client.log_in();
        return client;
    }

    void log_in() {
        const auto response =
            ask({.line = "POST /auth/session",
                 .headers = {"Authorization: Bearer " + std::string(files_secret)}});
        EXPECT_EQ(response.status, 201) << response.body;
        id = field_of(response.body, "sessionId");
        name = field_of(response.body, "name");
    }

    [[nodiscard]] std::string bytes_of(FileRequest request) const {
        if (!id.empty()) request.headers.push_back("Authorization: Bearer " + id);
        return to_bytes(request);
    }
    void send(const FileRequest& request) { client_.send(bytes_of(request)); }
    net::TestResponse ask(const FileRequest& request) {
        send(request);
        return client_.response(request.line.starts_with("HEAD "));
    }
    net::TestResponse put(const std::string& path, const std::string& body) {
        return ask({.line = "PUT " + path, .body = body});
    }
    net::TestResponse get(const std::string& target) { return ask({.line = "GET " + target}); }
    // Asks until the path is locked, or is not.
    void wait_for_lock(const std::string& path, bool is_locked) {
        const std::string wanted = is_locked ? "{\"locked\":true" : "{\"locked\":false";
        while (!get(path + "?lock=status").body.starts_with(wanted)) {
            ASSERT_FALSE(::testing::Test::HasFatalFailure());
            std::this_thread::yield();
        }
    }
    net::TestClient& connection() { return client_; }

    std::string id, name;  // of the session

  private:
    net::TestClient client_;
};

}  // namespace holdfast::conformance
