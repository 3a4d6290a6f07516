#pragma once

// TestCalls: a loop and a client of etcd, with calls that wait for their answer; for tests.

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "etcd/client.h"
#include "net/loop/event_loop.h"
#include "net/loop/loop_timer.h"

namespace holdfast::etcd {

class TestCalls {
  public:
    // Long enough for a busy machine. What is measured with it always ends earlier.
    static constexpr Api::Duration patience = std::chrono::seconds(30);

    explicit TestCalls(ClientSettings settings) : client_(open(std::move(settings))) {}

    [[nodiscard]] Client& client() { return *client_; }
    [[nodiscard]] net::EventLoop& loop() { return loop_; }
    void destroy_client() { client_.reset(); }

    // Runs the loop until the condition is true; false if it does not become true.
    [[nodiscard]] bool run_until(const std::function<bool()>& condition) {
        const auto end = std::chrono::steady_clock::now() + 2 * patience;
        while (!condition() && std::chrono::steady_clock::now() < end) {
            run_for(std::chrono::milliseconds(5));
        }
        return condition();
    }
    void run_for(std::chrono::milliseconds time) {
        net::LoopTimer timer(loop_, [&] { loop_.stop(); });
        timer.call_at(std::chrono::steady_clock::now() + time);
        loop_.run();
    }

    template <class T, class Ask>
    [[nodiscard]] Answer<T> wait(Ask ask) {
        std::optional<Answer<T>> answer;
        ask([&](Answer<T> arrived) {
            EXPECT_FALSE(answer.has_value());
            answer = std::move(arrived);
            loop_.stop();
        });
        EXPECT_FALSE(answer.has_value()) << "called inside the call";
        if (!run_until([&] { return answer.has_value(); })) {
            return tl::unexpected(Failure{.message = "the test had no patience"});
        }
        return std::move(*answer);
    }

    [[nodiscard]] Answer<RangeAnswer> range(RangeRequest request,
                                            Api::Duration timeout = patience) {
        return wait<RangeAnswer>(
            [&](auto done) { client_->range(std::move(request), timeout, std::move(done)); });
    }
    [[nodiscard]] Answer<TransactionAnswer> transact(Transaction transaction,
                                                     Api::Duration timeout = patience) {
        return wait<TransactionAnswer>([&](auto done) {
            client_->transact(std::make_shared<const Transaction>(std::move(transaction)), timeout,
                              std::move(done));
        });
    }
    [[nodiscard]] Answer<TransactionAnswer> put(std::string key, std::string value,
                                                LeaseId lease = 0) {
        return transact({.then = {Operation::put(std::move(key), std::move(value), lease)}});
    }
    [[nodiscard]] Answer<LeaseAnswer> grant(std::chrono::seconds ttl, LeaseId id = 0) {
        return wait<LeaseAnswer>(
            [&](auto done) { client_->grant(id, ttl, patience, std::move(done)); });
    }
    [[nodiscard]] Answer<LeaseAnswer> keep_alive(LeaseId id) {
        return wait<LeaseAnswer>(
            [&](auto done) { client_->keep_alive(id, patience, std::move(done)); });
    }
    [[nodiscard]] Answer<LeaseAnswer> revoke(LeaseId id) {
        return wait<LeaseAnswer>(
            [&](auto done) { client_->revoke(id, patience, std::move(done)); });
    }
    [[nodiscard]] Answer<Revision> compact(Revision revision) {
        return wait<Revision>(
            [&](auto done) { client_->compact(revision, patience, std::move(done)); });
    }
    [[nodiscard]] Answer<StatusAnswer> status(Api::Duration timeout = patience) {
        return wait<StatusAnswer>([&](auto done) { client_->status(timeout, std::move(done)); });
    }

  private:
    std::unique_ptr<Client> open(ClientSettings settings) {
        auto client = Client::open(loop_, std::move(settings));
        EXPECT_TRUE(client) << client.error().message;
        return std::move(*client);
    }

    net::EventLoop loop_;
    std::unique_ptr<Client> client_;
};

}  // namespace holdfast::etcd
