#pragma once

// Server: the process around the real LockService. It can be paused, it can die at any moment, and
// it comes back with nothing but what is on the disk.
//
// It does what a door does: submits what arrives, keeps the promises of each connection,
// abandons them when the connection is gone, and ends the session that was opened on it.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "service/lock_service.h"
#include "service/ports/executor.h"
#include "sim/disk.h"
#include "sim/message.h"
#include "sim/network.h"
#include "sim/referee/referee.h"

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
    // Everything outlives the server.
    struct Parts {
        World& world;
        const Settings& settings;
        const Faults& faults;
        Machine& machine;
        Disk& disk;
        Network& network;
        Referee& referee;
    };

    explicit Server(Parts parts) : parts_(parts) {}

    void start();
    // It dies now, and comes back later.
    void crash();
    // It stands still so long, and knows nothing of it.
    void pause(core::Duration length);

    // Until then the store is sure that it has the disk. A new process is always sure.
    void set_authority_deadline(Moment deadline);

    void receive(const Call& call);
    void hang_up(ConnectionId connection);

    [[nodiscard]] bool is_running() const { return process_ != nullptr; }
    // Running, and not standing still.
    [[nodiscard]] bool is_awake() const {
        return process_ != nullptr && parts_.world.now() > paused_until_;
    }
    // REQUIRES: running.
    [[nodiscard]] core::TableCounts counts() const { return process_->service->counts(); }

  private:
    struct Connection {
        std::map<std::uint64_t, service::PromiseId> promises;  // by submission
        std::vector<core::SessionId> sessions;
    };
    // All that a crash destroys.
    struct Process {
        std::unique_ptr<SimExecutor> executor;
        std::unique_ptr<service::Store> store;
        DiskStore* disk_store = nullptr;  // `store`, unless that is volatile
        std::unique_ptr<service::LockService> service;
        std::map<ConnectionId, Connection> connections;
        std::vector<std::pair<ConnectionId, Reply>> outbox;
        std::deque<std::function<void()>> inbox;  // what came while it stood still
    };
    class CallAnswer;

    [[nodiscard]] std::shared_ptr<Process> make_process();
    [[nodiscard]] DiskHooks make_hooks(const std::weak_ptr<Process>& process);
    void turn(std::function<void()> task);
    void run_turn(const std::function<void()>& task);
    void flush();
    void resume();
    void restart_later();
    void submit(const Call& call);
    void sign(Submission& submission);
    void answer(const Submission& submission, const service::Response& response);
    void drop_connection(ConnectionId id);
    void end_session(core::SessionId session);

    const Parts parts_;
    std::shared_ptr<Process> process_;  // only weak ones elsewhere
    Moment paused_until_{Moment::min()};
    std::uint64_t submissions_ = 0;
    std::uint64_t reboots_ = 0;
};

}  // namespace holdfast::sim
