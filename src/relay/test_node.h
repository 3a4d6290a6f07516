#pragma once

// TestNode: a node with one door, a relay and a peer server on loopback, for tests. The door says the
// name of its node to each client, and then returns every byte.

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "net/loop/test_client.h"
#include "relay/peer_server.h"
#include "relay/relay.h"

namespace holdfast::relay {

// What the connections of a door have left behind when they closed.
class Farewells {
  public:
    void add(std::string text) {
        const std::lock_guard guard(mutex_);
        texts_.push_back(std::move(text));
    }
    [[nodiscard]] std::vector<std::string> all() const {
        const std::lock_guard guard(mutex_);
        return texts_;
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::string> texts_;
};

class EchoProtocol final : public net::Protocol {
  public:
    EchoProtocol(net::Channel& channel, const std::string& greeting, Farewells& farewells)
        : channel_(channel), farewells_(farewells) {
        channel_.output().append(greeting + "\n");
        channel_.flush();
    }
    // `!` closes, after what came before it was answered.
    std::size_t on_input(std::string_view input) override {
        if (channel_.should_return()) return 0;
        channel_.output().append(input.substr(0, input.find('!')));
        if (input.find('!') != std::string_view::npos) channel_.close_after_flush();
        return input.size();
    }
    void on_read_timeout() override {}
    void on_closed() override { farewells_.add(channel_.is_client_lost() ? "lost" : "left"); }
    bool idle() const override { return true; }

  private:
    net::Channel& channel_;
    Farewells& farewells_;
};

struct TestNodeOptions {
    const net::TlsSource* door_tls = nullptr;
    const net::TlsSource* peer_tls = nullptr;
    std::shared_ptr<const net::TlsTrust> trust = nullptr;
    std::chrono::milliseconds connect_timeout{10'000};
    std::size_t connections_max = 100;
    std::size_t loop_count = 1;
};

class TestNode {
  public:
    explicit TestNode(std::string name, const TestNodeOptions& options = {})
        : name_(std::move(name)) {
        std::vector<net::EventLoop*> loops;
        for (std::size_t i = 0; i < options.loop_count; ++i) {
            loops_.push_back(std::make_unique<net::EventLoop>());
            loops.push_back(loops_.back().get());
        }
        const auto any = net::parse_endpoint("localhost:0").value();
        relay_ = std::make_unique<Relay>(
            loops,
            RelayOptions{.node = name_,
                         .trust = trust_of(options),
                         .connect_timeout = options.connect_timeout,
                         .on_failure = [this](const std::string& why) { failures.add(why); }});
        net::ServerOptions door_options;
        door_options.connections_max = options.connections_max;
        door_options.tls = options.door_tls;
        door_options.divert = relay_->divert("door");
        door_options.on_refused = [this] { turned_away.add("too many"); };
        door_ = std::move(net::Server::start(
                              any, loops,
                              [this](net::Channel& channel, net::EventLoop&) {
                                  addresses.add(channel.client_address());
                                  return std::make_unique<EchoProtocol>(channel, name_, farewells);
                              },
                              std::move(door_options))
                              .value());
        PeerServerOptions peer_options;
        peer_options.doors = {{"door", door_.get()}};
        peer_options.tls = options.peer_tls;
        peer_options.on_refused = [this](const PeerRefusal& refusal) {
            refusals.add(std::string(to_text(refusal.verdict)));
        };
        peer_ = std::move(PeerServer::start(any, loops, std::move(peer_options)).value());
        for (auto* loop : loops) threads_.emplace_back([loop] { loop->run(); });
    }
    ~TestNode() { kill(); }

    void lead(std::uint64_t epoch = 7, const std::string& secret = "secret") {
        peer_->lead({.epoch = epoch, .secret = secret});
    }
    void follow(const net::Endpoint& leader, std::uint64_t epoch = 7,
                const std::string& secret = "secret") {
        relay_->follow(
            Leader{.peers = {leader}, .host = "localhost", .epoch = epoch, .secret = secret});
    }
    static std::function<std::shared_ptr<const net::TlsTrust>()> trust_of(
        const TestNodeOptions& options) {
        if (!options.trust) return {};
        return [trust = options.trust] { return trust; };
    }

    // Ends all connections without a word, as the kernel does for a process that was killed.
    void kill() {
        for (auto& loop : loops_) loop->stop();
        for (auto& thread : threads_) thread.join();
        threads_.clear();
        relay_.reset();
        peer_.reset();
        door_.reset();
    }

    [[nodiscard]] net::TestClient connect(int receive_buffer_bytes = 0) {
        return net::TestClient(door_->endpoint(), receive_buffer_bytes);
    }
    [[nodiscard]] net::Server& door() { return *door_; }
    [[nodiscard]] Relay& relay() { return *relay_; }
    [[nodiscard]] PeerServer& peer() { return *peer_; }

    Farewells farewells;    // of connections at the door
    Farewells addresses;    // of clients at the door
    Farewells failures;     // of the relay
    Farewells refusals;     // of the peer server
    Farewells turned_away;  // at the door, which was full

  private:
    const std::string name_;
    std::vector<std::unique_ptr<net::EventLoop>> loops_;
    std::unique_ptr<net::Server> door_;
    std::unique_ptr<PeerServer> peer_;
    std::unique_ptr<Relay> relay_;
    std::vector<std::thread> threads_;
};

template <class Condition>
[[nodiscard]] bool eventually(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < end) {
        if (condition()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

// A leader and a node that follows it.
class RelayTest : public ::testing::Test {
  protected:
    explicit RelayTest(const TestNodeOptions& leader = {}, const TestNodeOptions& follower = {})
        : leader_("leader", leader), follower_("follower", follower) {
        leader_.lead();
        follower_.follow(leader_.peer().endpoint());
    }

    TestNode leader_;
    TestNode follower_;
};

}  // namespace holdfast::relay
