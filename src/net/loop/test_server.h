#pragma once

// TestServer: a server on a free port of 127.0.0.1 with its loops' threads, for tests.

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "net/loop/server.h"
#include "net/loop/test_client.h"

namespace holdfast::net {

class TestServer {
  public:
    explicit TestServer(ProtocolFactory factory, ServerOptions options = {},
                        std::size_t loop_count = 1, const std::string& address = "localhost:0") {
        std::vector<EventLoop*> loops;
        for (std::size_t i = 0; i < loop_count; ++i) {
            loops_.push_back(std::make_unique<EventLoop>());
            loops.push_back(loops_.back().get());
        }
        auto server = Server::start(parse_endpoint(address).value(), loops, std::move(factory),
                                    std::move(options));
        server_ = std::move(server.value());
        for (auto* loop : loops) threads_.emplace_back([loop] { loop->run(); });
    }

    ~TestServer() {
        for (auto& loop : loops_) loop->stop();
        for (auto& thread : threads_) thread.join();
        server_.reset();
    }

    EventLoop& loop(std::size_t index = 0) { return *loops_[index]; }
    Server& server() { return *server_; }
    TestClient connect(int receive_buffer_bytes = 0) {
        return TestClient(server_->endpoint(), receive_buffer_bytes);
    }

    // Runs the function on a loop's thread and returns its result.
    template <class Function>
    auto on_loop(Function function, std::size_t index = 0) {
        std::packaged_task<decltype(function())()> task(std::move(function));
        auto result = task.get_future();
        loop(index).post([&task] { task(); });
        return result.get();
    }

    // The first half of a shutdown; the future is ready when all requests under way are answered.
    std::future<void> begin_shut_down() {
        auto quiet = std::make_shared<std::promise<void>>();
        auto future = quiet->get_future();
        server_->begin_shut_down([quiet] { quiet->set_value(); });
        return future;
    }

    // Begins to shut down; the future is ready when all is closed.
    std::future<void> shut_down(std::chrono::milliseconds grace) {
        auto done = std::make_shared<std::promise<void>>();
        auto future = done->get_future();
        server_->shut_down(grace, [done] { done->set_value(); });
        return future;
    }

    // Waits until the condition, evaluated on the first loop, holds.
    template <class Condition>
    [[nodiscard]] bool eventually(Condition condition) {
        const auto end = EventLoop::Clock::now() + std::chrono::seconds(10);
        while (EventLoop::Clock::now() < end) {
            if (on_loop(condition)) return true;
            std::this_thread::yield();
        }
        return false;
    }

  private:
    std::vector<std::unique_ptr<EventLoop>> loops_;
    std::unique_ptr<Server> server_;
    std::vector<std::thread> threads_;
};

}  // namespace holdfast::net
