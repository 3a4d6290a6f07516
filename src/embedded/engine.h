#pragma once

// Engine: the inside of a LockManager: the lock service on a thread of its own, its store, and the
// watcher over the leases of guards.
//
// A call from any thread becomes a task on the service's thread; the caller sleeps until the task
// gives the result. Nothing is polled.
//
// Thread safety: everything from any thread, but for what says otherwise.
// Lifetime: shared by the manager and its guards.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "embedded/lease_book.h"
#include "embedded/service_thread.h"
#include "holdfast/lock_manager.h"
#include "renewal/lease_source.h"
#include "service/lock_service.h"

namespace holdfast::embedded {

class Engine final : public renewal::LeaseSource {
  public:
    // The clock outlives the engine, and is BootClock or a test's.
    [[nodiscard]] static LockResult<std::shared_ptr<Engine>> start(
        const LockManagerOptions& options, service::Clock& clock,
        std::unique_ptr<service::Store> store);
    ~Engine() override;

    // Makes a manager with this engine.
    [[nodiscard]] static LockManager make_manager(std::shared_ptr<Engine> engine) {
        return LockManager(std::move(engine));
    }

    [[nodiscard]] LockResult<Lease> acquire(const LeaseRequest& request,
                                            std::chrono::milliseconds wait,
                                            const std::stop_token& stop) override;
    [[nodiscard]] LockResult<Lease> renew(const Lease& lease, std::chrono::milliseconds ttl);
    LockResult<void> release(const Lease& lease) override;
    [[nodiscard]] LockResult<Lease> find(std::string_view token);
    [[nodiscard]] LockResult<std::vector<Lease>> list();
    [[nodiscard]] core::TableCounts counts();

    // Does not wait. The engine's destructor waits until the release is certain.
    void release_quietly(const Lease& lease) override;

    [[nodiscard]] renewal::Watcher& watcher() override { return watcher_; }

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
    void start_renewal(const renewal::HoldPointer& hold, renewal::Time now);

    // On the service's thread.
    void on_event(const core::Event& event);
    std::optional<service::PromiseId> submit(const service::Request& request, Then then);
    void recount_after(bool has_failed);
    void recount();
    void begin(const std::shared_ptr<Acquiring>& acquiring);
    void finish(const std::shared_ptr<Acquiring>& acquiring, const service::Response& response);
    void give_up(Acquiring& acquiring);
    void end_waiting(Acquiring& acquiring);
    [[nodiscard]] LockResult<Lease> to_result(const service::Response& response,
                                              core::Token token) const;

    const LockManagerOptions options_;
    const std::string holder_;  // for requests that name no holder
    service::Clock& clock_;
    ServiceThread thread_;
    std::unique_ptr<service::LockService> service_;
    std::unique_ptr<service::Store> store_;
    renewal::Watcher watcher_;
    std::atomic<int> releases_under_way_ = 0;

    // On the service's thread.
    LeaseBook book_;
    bool must_recount_ = true;
    std::unordered_map<std::string, std::size_t> waiting_;  // acquires without an answer, by holder
};

}  // namespace holdfast::embedded
