#pragma once

// A cluster for tests: one etcd, and nodes with a store and a service each, in virtual time.

#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/cluster_store.h"
#include "cluster/test_etcd.h"
#include "service/test_service.h"

namespace holdfast::cluster::testing {

using service::Request;
using service::Role;
using service::testing::give_back;
using service::testing::take;
using service::testing::wait_for;
using Fate = FakeApi::Fate;

class TestNode {
  public:
    TestNode(const std::string& name, FakeEtcd& etcd, service::Clock& node_clock,
             ClusterOptions options)
        : clock(node_clock), api(etcd, node_clock), timers(node_clock) {
        options.node = name;
        if (options.peer.empty()) options.peer = name + ":7000";
        options.version = "1.0";
        store = std::make_unique<ClusterStore>(
            std::move(options),
            ClusterParts{.etcd = api, .timers = timers, .clock = clock, .random = [this] {
                             return ++drawn_;
                         }});
        service = std::make_unique<service::LockService>(
            core::TableOptions{},
            service::ServiceParts{.clock = clock,
                                  .store = *store,
                                  .executor = executor,
                                  .random = [this] { return ++drawn_; },
                                  .on_changes = {},
                                  .on_deposed =
                                      [this](const service::StoreFailure& why) {
                                          deposed.push_back(why.message);
                                          recover();
                                      }});
    }

    void recover() {
        service->recover([this](const service::StoreResult<service::Recovered>& result) {
            const bool is_deposed =
                !result && result.error().kind == service::StoreFailure::Kind::deposed;
            if (!result && !is_deposed) trouble.push_back(result.error().message);
        });
    }

    // Lets everything happen that is due. A node that stands still does nothing.
    void settle() {
        if (is_standing_still) return;
        timers.ring();
        api.deliver();
        executor.settle();
        if (executor.wake_delay) {
            wake_at_ = clock.now() + *executor.wake_delay;
            executor.wake_delay.reset();
        }
        if (wake_at_ && *wake_at_ <= clock.now()) {
            wake_at_.reset();
            executor.ring();
        }
    }

    // The response as a note, or `later`; then notes will say `<prefix><note>`.
    std::string ask(const Request& request, const std::string& prefix = "") {
        const auto remember = [this](const service::Response& response) {
            if (service::LockService::names_lease(response)) token = response.outcome.lease.token;
        };
        if (const service::Response* response = service->submit(request, by)) {
            remember(*response);
            return service::testing::to_note(*response);
        }
        service->await(std::make_unique<service::testing::NotedAnswer>(notes, prefix, remember));
        return "later";
    }
    std::vector<std::string> take_notes() { return std::exchange(notes, {}); }

    service::Clock& clock;
    FakeApi api;
    TestTimers timers;
    service::testing::ManualExecutor executor;
    std::unique_ptr<ClusterStore> store;
    std::unique_ptr<service::LockService> service;
    std::vector<std::string> notes, deposed, trouble;
    core::Token token;  // of the last lease that an answer named
    std::string by;     // who asks
    bool is_standing_still = false;

  private:
    std::uint64_t drawn_ = 0;
    std::optional<core::Time> wake_at_;
};

struct TestCluster {
    TestNode& add(const std::string& name, ClusterOptions options = {}) {
        TestNode& node = nodes.emplace_back(name, etcd, clock, std::move(options));
        node.recover();
        return node;
    }
    // A node that leads.
    TestNode& lead(const std::string& name = "a") {
        TestNode& node = add(name);
        settle();
        CHECK(node.service->role() == Role::serving);
        return node;
    }

    // Lets everything travel, without any time.
    void settle() {
        for (int round = 0; round < 20; ++round) {
            for (TestNode& node : nodes) node.settle();
        }
    }
    void advance(core::Duration time) {
        for (constexpr core::Duration step = 50ms; time > core::Duration::zero(); time -= step) {
            clock.advance(std::min(step, time));
            etcd.expire();
            settle();
        }
    }
    // Asks, and lets the answer travel.
    std::string ask(TestNode& node, const Request& request) {
        std::string answer = node.ask(request);
        settle();
        if (answer != "later") return answer;
        const auto notes = node.take_notes();
        return notes.empty() ? "nothing" : notes.back();
    }

    service::ManualClock clock{service::testing::test_epoch};
    FakeEtcd etcd{clock};
    Keys keys{"/holdfast"};
    std::list<TestNode> nodes;
};

}  // namespace holdfast::cluster::testing
