#pragma once

// Server: the process around the real LockService. It can be paused, it can die at any moment, and
// it comes back with nothing but what its store has.
//
// It does what a door does: submits what arrives, keeps the promises of each connection,
// abandons them when the connection is gone, and ends the session that was opened on it.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "service/lock_service.h"
#include "service/ports/executor.h"
#include "sim/checker/checker.h"
#include "sim/message.h"
#include "sim/settings.h"
#include "sim/store_hooks.h"

namespace holdfast::sim {

// SimExecutor: the turns of a simulated server. It dies with the server, and so does all that it
// was asked to do later.
class SimExecutor final : public service::Executor {
  public:
    // Runs a task on the server later, if it still lives then.
    using Later = std::function<void(core::Duration delay, std::function<void()> task)>;

    struct Ways {
        Later timer;  // may be late
        Later post;
    };

    explicit SimExecutor(Ways ways) : ways_(std::move(ways)) {}

    void bind(std::function<void()> on_end_of_turn, std::function<void()> on_wake) override {
        on_end_of_turn_ = std::move(on_end_of_turn);
        on_wake_ = std::move(on_wake);
    }
    void at_end_of_turn() override { has_work_ = true; }
    void wake_after(core::Duration delay) override {
        ways_.timer(delay, [this, number = ++wakes_] {
            if (number == wakes_) on_wake_();
        });
    }
    void post(std::function<void()> task) override {
        ways_.post(core::Duration::zero(), std::move(task));
    }

    // One turn.
    void run(const std::function<void()>& task) {
        task();
        while (std::exchange(has_work_, false)) on_end_of_turn_();
    }

  private:
    const Ways ways_;
    std::function<void()> on_end_of_turn_;
    std::function<void()> on_wake_;
    bool has_work_ = false;
    std::uint64_t wakes_ = 0;
};

class Server {
  public:
    // The ways to the clients.
    struct Ways {
        std::function<void(ConnectionId, const Reply&)> reply;
        std::function<void(ConnectionId)> cut;
        std::function<void()> cut_all;  // those of this server: it has died
    };
    // Everything outlives the server.
    struct Parts {
        World& world;
        const Settings& settings;
        const Faults& faults;
        Machine& machine;
        Checker& checker;
        Ways ways;
        // The store of a new process.
        std::function<std::unique_ptr<service::Store>(const StoreHooks&)> make_store;
        std::string name = "server";
        std::uint64_t first_submission = 1;  // no other server has the same numbers
        bool recovers_when_deposed = false;  // to wait until it has the store again
        // Whether the server serves what has arrived; if not, it was seen to. May be empty.
        std::function<bool(const Call&)> admits = {};
        // Told of every answer that is not a failure. May be empty.
        std::function<void(const Submission&)> on_served = {};
        // Whether another may serve by now, although this server could not know it. Then no client gets
        // an answer that is not a failure. May be empty.
        std::function<bool()> is_usurped = {};
    };

    explicit Server(Parts parts)
        : parts_(std::move(parts)), next_submission_(parts_.first_submission) {}

    void start();
    // It dies now, and comes back later.
    void crash();
    // It dies now, if it runs, and does not come back before release().
    void hold_down();
    void release();
    // It stands still so long, and knows nothing of it.
    void pause(core::Duration length);

    void receive(const Call& call);
    // The other end is gone. If that was a relay and not the client, leases stay.
    enum class Gone : std::uint8_t { client, relay };
    void hang_up(ConnectionId connection, Gone gone = Gone::client);
    // Runs a task: now, or when the server goes on. Never, if it does not run.
    void do_in_turn(std::function<void()> task);

    [[nodiscard]] bool is_running() const { return process_ != nullptr; }
    // Running, and not standing still.
    [[nodiscard]] bool is_awake() const {
        return process_ != nullptr && parts_.world.now() > paused_until_;
    }
    // REQUIRES: running.
    [[nodiscard]] core::TableCounts counts() const { return process_->service->counts(); }
    [[nodiscard]] service::Role role() const { return process_->service->role(); }
    // How many answers are owed.
    [[nodiscard]] std::size_t promises() const;

  private:
    struct Connection {
        std::map<std::uint64_t, service::PromiseId> promises;  // by submission
        std::vector<core::SessionId> sessions;
    };
    // All that a crash destroys.
    struct Process {
        std::unique_ptr<SimExecutor> executor;
        std::unique_ptr<service::Store> store;
        std::unique_ptr<service::LockService> service;
        std::map<ConnectionId, Connection> connections;
        std::vector<std::pair<ConnectionId, Reply>> outbox;
        std::deque<std::function<void()>> inbox;  // what came while it stood still
    };
    class CallAnswer;

    [[nodiscard]] std::shared_ptr<Process> make_process();
    [[nodiscard]] StoreHooks make_hooks(const std::weak_ptr<Process>& process);
    void turn(std::function<void()> task);
    void run_turn(const std::function<void()>& task);
    void flush();
    void resume();
    void restart_later();
    void come_back();
    void submit(const Call& call);
    void sign(Submission& submission);
    void answer(const Submission& submission, const service::Response& response);
    void withhold(const Submission& submission, const Reply& reply);
    void recover();
    void drop_connection(ConnectionId id, Gone gone);
    void end_session(core::SessionId session, Gone gone);

    const Parts parts_;
    std::shared_ptr<Process> process_;  // only weak ones elsewhere
    Moment paused_until_{Moment::min()};
    std::uint64_t next_submission_;
    std::uint64_t reboots_ = 0;
    bool is_held_down_ = false;
};

}  // namespace holdfast::sim
