#pragma once

// Engine: the inside of a LockManager: the lock service on a thread of its own, its store, and the
// renewer of the handles' locks.
//
// A call from any thread becomes a task on the service's thread; the caller sleeps until the task
// gives the result. Nothing is polled.
//
// Thread safety: everything from any thread, but for what says otherwise.
// Lifetime: shared by the manager and its handles.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "embedded/lease_book.h"
#include "embedded/renewer.h"
#include "embedded/service_thread.h"
#include "holdfast/lock_manager.h"
#include "service/lock_service.h"

namespace holdfast::embedded {

class Engine {
  public:
    // The clock outlives the engine.
    [[nodiscard]] static LockResult<std::shared_ptr<Engine>> start(
        const LockManagerOptions& options, service::Clock& clock,
        std::unique_ptr<service::Store> store);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // Makes a manager with this engine.
    [[nodiscard]] static LockManager make_manager(std::shared_ptr<Engine> engine) {
        return LockManager(std::move(engine));
    }

    [[nodiscard]] LockResult<Lock> acquire(const LockRequest& request, core::Duration wait,
                                           std::stop_token stop);
    [[nodiscard]] LockResult<Lock> renew(LockToken token,
                                         std::optional<std::chrono::milliseconds> duration);
    [[nodiscard]] LockResult<void> release(LockToken token);
    [[nodiscard]] LockResult<Lock> find(LockToken token);
    [[nodiscard]] LockResult<std::vector<Lock>> list();
    [[nodiscard]] core::TableCounts counts();

    // Does not wait. The engine's destructor waits until the release is certain.
    void release_later(LockToken token);

    [[nodiscard]] Renewer& renewer() { return renewer_; }

    // Does everything that is due now that the clock was moved. For tests.
    void wake();

  private:
    using Then = std::function<void(const service::Response&)>;
    struct Acquiring;

    Engine(const LockManagerOptions& options, service::Clock& clock,
           std::unique_ptr<service::Store> store);

    template <class Result>
    Result ask(const service::Request& request,
               std::function<Result(const service::Response&)> to_result);

    // On the service's thread.
    std::optional<service::PromiseId> submit(const service::Request& request, Then then);
    void recount_after(bool has_failed);
    void recount();
    void begin(const std::shared_ptr<Acquiring>& acquiring);
    void finish(const std::shared_ptr<Acquiring>& acquiring, const service::Response& response);
    void give_up(Acquiring& acquiring);
    void end_waiting(Acquiring& acquiring);
    [[nodiscard]] LockResult<Lock> to_result(const service::Response& response,
                                             core::Token token) const;

    const LockManagerOptions options_;
    service::Clock& clock_;
    ServiceThread thread_;
    std::unique_ptr<service::LockService> service_;
    std::unique_ptr<service::Store> store_;
    Renewer renewer_;
    std::atomic<int> releases_under_way_ = 0;

    // On the service's thread.
    LeaseBook book_;
    bool must_recount_ = true;
    std::unordered_map<std::string, std::size_t> waiting_;  // acquires without an answer, by holder
};

}  // namespace holdfast::embedded
