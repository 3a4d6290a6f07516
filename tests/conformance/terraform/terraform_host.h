#pragma once

// TerraformHost: a whole server with its data in a folder, whose clock the test moves; and what
// Terraform sends to it.

#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "app/host.h"
#include "files/tree/test_tree.h"
#include "net/loop/test_client.h"
#include "service/ports/clock.h"

namespace holdfast::conformance {

using namespace std::chrono_literals;

class TerraformHost {
  public:
    using Change = std::function<void(app::ServeOptions&)>;

    explicit TerraformHost(std::size_t threads, const Change& change = {})
        : options_({.http_address = "127.0.0.1:0",
                    .data_folder = folder_ / "data",
                    .threads = threads}) {
        if (change) change(options_);
        start();
    }
    ~TerraformHost() { stop(); }
    TerraformHost(const TerraformHost&) = delete;
    TerraformHost& operator=(const TerraformHost&) = delete;

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

    [[nodiscard]] net::TestClient connect() { return net::TestClient(host_->endpoint("http")); }

    // The answer to one request on a connection of its own: `POST /v1/terraform/x?ID=a`.
    [[nodiscard]] net::TestResponse ask(const std::string& line, const std::string& body = "",
                                        const std::string& headers = "") {
        net::TestClient client = connect();
        client.send(request(line, body, headers));
        return client.response(line.starts_with("HEAD "));
    }
    // Its status, and its body without the newline: `200 {"ID":"a"}`.
    [[nodiscard]] std::string say(const std::string& line, const std::string& body = "") {
        net::TestResponse response = ask(line, body);
        if (response.body.ends_with('\n')) response.body.pop_back();
        return std::to_string(response.status) + " " + response.body;
    }

    static std::string request(const std::string& line, const std::string& body = "",
                               const std::string& headers = "") {
        return line +
               " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
               "\r\n" + headers + "\r\n" + body;
    }

    [[nodiscard]] std::string data(const std::string& name) const {
        return folder_ / ("data/" + name);
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
    service::ManualClock clock_{
        service::WallTime{std::chrono::sys_days{std::chrono::January / 15 / 2024} + 10h + 30min}};
    app::ServeOptions options_;
    std::unique_ptr<app::Host> host_;
    std::thread thread_;
};

inline const std::string prod = "/v1/terraform/prod";

// The JSON of a lock.
inline std::string lock_info(const std::string& id) {
    return R"({"ID":")" + id +
           R"(","Operation":"OperationTypeApply","Info":"","Who":"ann@box","Version":"1.11.4",)"
           R"("Created":"2026-01-15T10:30:00.123456789Z","Path":""})";
}

}  // namespace holdfast::conformance
