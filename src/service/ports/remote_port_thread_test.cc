// Remote ports on real threads: nothing is lost, nothing comes twice, nothing is out of order.
// Meant for ThreadSanitizer as well.

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <string>

#include "service/ports/remote_port.h"
#include "service/test_service.h"

namespace holdfast::service::testing {
namespace {

constexpr int requests_each = 3000;

// A service on a thread of its own.
struct ServiceThread {
    ServiceThread() {
        service.recover([](const StoreResult<Recovered>& result) { CHECK(result); });
        executor.start();
    }

    ManualClock clock{test_epoch};
    TestStore store{true};
    ThreadExecutor executor;
    std::uint64_t drawn = 0;
    LockService service{{},
                        {.clock = clock,
                         .store = store,
                         .executor = executor,
                         .random = [this] { return ++drawn; },
                         .on_changes = {}}};
};

// A thread with a port to it.
struct PortThread {
    explicit PortThread(ServiceThread& to) : there(to) { executor.start(); }

    void submit(const Request& request, std::function<void(const Response&)> then) {
        EXPECT_EQ(port.submit(request), nullptr);
        promise = port.await(std::make_unique<NotedAnswer>(notes, "", std::move(then)));
    }

    // Returns when everything handed in before has been answered.
    void round_trip() {
        std::promise<void> done;
        executor.post([&] { submit(List{}, [&](const Response&) { done.set_value(); }); });
        done.get_future().wait();
    }

    ServiceThread& there;
    ThreadExecutor executor;
    RemotePort port{executor, there.executor, there.service};
    Notes notes;
    PromiseId promise{};
};

// Stops the threads so that the service can be looked at from here.
void stop(ServiceThread& there, std::initializer_list<PortThread*> ports) {
    for (PortThread* port : ports) port->executor.stop();
    there.executor.stop();
}

TEST(RemotePortThreads, ThousandsOfRequestsAreAnsweredInOrder) {
    ServiceThread there;
    PortThread one(there);
    PortThread two(there);
    std::vector<int> answered_one;
    std::vector<int> answered_two;
    const auto post_all = [](PortThread& port, std::vector<int>& answered,
                             const std::string& owner) {
        for (int i = 0; i < requests_each; ++i) {
            port.executor.post([&port, &answered, owner, i] {
                const std::string job = owner + std::to_string(i);
                port.submit(take(owner, job), [&answered, i](const Response& response) {
                    if (response.outcome.kind == core::Outcome::Kind::granted)
                        answered.push_back(i);
                });
            });
        }
    };
    post_all(one, answered_one, "laptop1");
    post_all(two, answered_two, "laptop2");
    one.round_trip();
    two.round_trip();
    stop(there, {&one, &two});
    std::vector<int> all(requests_each);
    for (int i = 0; i < requests_each; ++i) all[static_cast<std::size_t>(i)] = i;
    EXPECT_EQ(answered_one, all);
    EXPECT_EQ(answered_two, all);
    EXPECT_EQ(there.service.counts().leases, 2U * requests_each);
}

// Takes the lock, says so, and gives it back, again and again.
class Contender {
  public:
    Contender(PortThread& port, std::string name, std::atomic<int>& inside)
        : port_(port), name_(std::move(name)), inside_(inside) {}

    void start() {
        port_.executor.post([this] { again(); });
    }
    std::future<void> done() { return done_.get_future(); }
    [[nodiscard]] int collisions() const { return collisions_; }

  private:
    void again() {
        port_.submit(wait_for(name_), [this](const Response& response) {
            if (inside_.fetch_add(1) != 0) ++collisions_;
            const core::Token token = response.outcome.lease.token;
            inside_.fetch_sub(1);
            port_.submit(core::ReleaseRequest{.token = token}, [this](const Response&) {
                if (++rounds_ == requests_each / 3) {
                    done_.set_value();
                } else {
                    again();
                }
            });
        });
    }

    PortThread& port_;
    const std::string name_;
    std::atomic<int>& inside_;
    int rounds_ = 0;
    int collisions_ = 0;
    std::promise<void> done_;
};

TEST(RemotePortThreads, ContendersNeverHoldALockTogether) {
    ServiceThread there;
    PortThread one(there);
    PortThread two(there);
    std::atomic<int> inside = 0;
    Contender first(one, "laptop1", inside);
    Contender second(two, "laptop2", inside);
    first.start();
    second.start();
    first.done().wait();
    second.done().wait();
    stop(there, {&one, &two});
    EXPECT_EQ(first.collisions() + second.collisions(), 0);
    EXPECT_EQ(there.service.counts().leases, 0U);
    EXPECT_EQ(there.service.counts().waiters, 0U);
}

TEST(RemotePortThreads, WhateverIsAbandonedWheneverIsHeardOrReleased) {
    ServiceThread there;
    PortThread port(there);
    std::size_t heard = 0;
    for (int i = 0; i < requests_each; ++i) {
        auto asked = std::make_shared<PromiseId>();
        port.executor.post([&port, &heard, asked, i] {
            port.submit(take("laptop1", std::to_string(i)), [&heard](const Response& response) {
                if (response.outcome.kind == core::Outcome::Kind::granted) ++heard;
            });
            *asked = port.promise;
            if (i % 4 == 0) port.port.abandon(*asked);
        });
        // Somewhere between the request's departure and its answer's arrival.
        if (i % 4 == 1) port.executor.post([&port, asked] { port.port.abandon(*asked); });
        if (i % 4 == 2) {
            there.executor.post([&port, asked] {
                port.executor.post([&port, asked] { port.port.abandon(*asked); });
            });
        }
    }
    port.round_trip();  // the requests
    std::promise<void> passed;
    there.executor.post([&] { passed.set_value(); });
    passed.get_future().wait();  // the abandoning that went by the service's thread
    port.round_trip();           // what these two set off
    port.round_trip();
    stop(there, {&port});
    EXPECT_EQ(there.service.counts().leases, heard);
    EXPECT_GE(heard, requests_each / 4U) << "those that nobody abandoned";
    EXPECT_LE(heard, requests_each * 3U / 4) << "those that were abandoned at once";
}

}  // namespace
}  // namespace holdfast::service::testing
