#pragma once

// DflockdHost: a whole server on a free port, whose clock the test moves; and a client that speaks
// lines.

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "app/dflockd/dflockd_command.h"
#include "app/host.h"
#include "net/loop/test_client.h"
#include "service/ports/clock.h"

namespace holdfast::conformance {

using namespace std::chrono_literals;

// How the server was started: `holdfast serve` or `holdfast dflockd`.
enum class Start { serve, dflockd };

// What such a server is told, but for the port, which is free.
inline app::ServeOptions options_of(Start start, std::size_t threads) {
    app::ServeOptions options;
    if (start == Start::dflockd) options = app::to_serve_options({}).value();
    if (start == Start::serve) options.http_address = "127.0.0.1:0";
    options.dflockd_address = "127.0.0.1:0";
    options.is_in_memory = true;
    options.threads = threads;
    return options;
}

// `l|key|10` as the three lines it stands for.
inline std::string lines_of(std::string_view request) {
    std::string lines(request);
    for (char& c : lines) c = c == '|' ? '\n' : c;
    return lines + "\n";
}

class DflockdClient : public net::TestClient {
  public:
    using net::TestClient::TestClient;

    // The next answer, without its line feed; what there is of it when the connection ends.
    std::string hear() {
        std::string line;
        while (true) {
            const std::string next = read(1);
            if (next.empty() || next == "\n") return line;
            line += next;
        }
    }

    // Says `l|key|10` and returns the answer.
    std::string ask(std::string_view request) {
        send(lines_of(request));
        return hear();
    }

    // Takes the lock and returns its token.
    std::string lock(const std::string& key, const std::string& argument = "0") {
        const std::string answer = ask("l|" + key + "|" + argument);
        EXPECT_EQ(answer.substr(0, 3), "ok ") << answer;
        return answer.size() < 35 ? answer : answer.substr(3, 32);
    }
};

class DflockdHost {
  public:
    // Its clock starts at 2024-01-15T10:30:00Z.
    explicit DflockdHost(const app::ServeOptions& options)
        : threads_(options.threads),
          host_(app::Host::start(options, clock_).value()),
          thread_([this] { host_->run(); }) {}
    ~DflockdHost() {
        host_->shut_down();
        thread_.join();
    }
    DflockdHost(const DflockdHost&) = delete;
    DflockdHost& operator=(const DflockdHost&) = delete;

    void advance(core::Duration step) {
        clock_.advance(step);
        host_->wake();
    }

    // Gives the server's loop a chance to read what was sent so far.
    void pause() { host_->wake(); }

    void shut_down() { host_->shut_down(); }

    [[nodiscard]] const net::Endpoint& endpoint() const { return host_->endpoint("dflockd"); }
    [[nodiscard]] DflockdClient connect() { return DflockdClient(host_->endpoint("dflockd")); }
    [[nodiscard]] net::TestClient connect_http() {
        return net::TestClient(host_->endpoint("http"));
    }

    // `2 locks 1 waiters`: how many locks and permits are held, and how many wait.
    [[nodiscard]] std::string tally() {
        DflockdClient observer = connect();
        const std::string stats = observer.ask("stats|_|");
        const auto sum = [&stats](const std::string& name) {
            int total = 0;
            for (auto at = stats.find(name); at != stats.npos; at = stats.find(name, at + 1)) {
                total += std::atoi(stats.c_str() + at + name.size());
            }
            return total;
        };
        int locks = sum("\"holders\":");
        for (auto at = stats.find("owner_conn_id"); at != stats.npos;
             at = stats.find("owner_conn_id", at + 1)) {
            ++locks;
        }
        return std::to_string(locks) + " locks " + std::to_string(sum("\"waiters\":")) + " waiters";
    }

    // Returns when all that the loops had read by now has been done: connections are dealt to the
    // loops in turn, and what a loop has read reaches the service in order.
    void settle() {
        for (std::size_t loop = 0; loop < threads_; ++loop) static_cast<void>(tally());
    }

    // Looks until the tally is as expected, for half a minute.
    [[nodiscard]] bool comes_to(const std::string& expected) {
        const auto end = std::chrono::steady_clock::now() + 30s;
        while (std::chrono::steady_clock::now() < end) {
            if (tally() == expected) return true;
            std::this_thread::yield();
        }
        ADD_FAILURE() << "it is " << tally() << ", not " << expected;
        return false;
    }

  private:
    const std::size_t threads_;
    service::ManualClock clock_{
        service::WallTime{std::chrono::sys_days{std::chrono::January / 15 / 2024} + 10h + 30min}};
    std::unique_ptr<app::Host> host_;
    std::thread thread_;
};

}  // namespace holdfast::conformance
