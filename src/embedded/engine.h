#pragma once

// Engine: the inside of a LockManager: the lock service on a thread of its own, its store, and the
// watcher over the leases of guards.
//
// A call from any thread becomes a task on the service's thread, which gives the result to `done`. That
// is the start_ form of the call. A blocking call is the same, and sleeps until the result is given;
// on the service's thread itself it would sleep for ever, so it is refused there. Nothing is polled.
//
// Thread safety: everything from any thread, but for what says otherwise.
// Lifetime: shared by the manager, its guards, and the calls that were started and have not ended.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/acquisitions.h"
#include "embedded/lease_board.h"
#include "embedded/lease_book.h"
#include "embedded/listening.h"
#include "embedded/service_thread.h"
#include "holdfast/lock_manager.h"
#include "renewal/lease_source.h"
#include "service/events/event_feed.h"
#include "service/lock_service.h"

namespace holdfast::embedded {

// The calls that were started and have not ended. Lives longer than the engine: a call gives up its
// engine before it ends, so that the engine ends with its last owner, and not a moment later.
//
// Thread safety: everything from any thread.
class CallsUnderWay {
  public:
    void begin() { ++count_; }
    void end() {
        --count_;
        count_.notify_all();
    }
    // Returns when there is none.
    void wait_for_all() const {
        for (int count = count_; count > 0; count = count_) count_.wait(count);
    }

  private:
    std::atomic<int> count_ = 0;
};

class Engine final : public renewal::LeaseSource {
  public:
    // Gets the result of a call on the service's thread, once. Does not block, and throws nothing.
    template <class T>
    using Done = std::function<void(LockResult<T>)>;

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
    [[nodiscard]] LockResult<Lease> check(std::string_view token, const LockScope& scope,
                                          LockMode mode);
    [[nodiscard]] LockResult<std::vector<Lease>> list();
    LockResult<Lease> set_value(const Lease& lease, std::string_view value);
    LockResult<std::uint64_t> force_release(const LockScope& scope);
    [[nodiscard]] LockResult<std::uint64_t> pass_fence(std::string_view resource,
                                                       std::uint64_t fencing_token);
    [[nodiscard]] LockResult<std::optional<std::uint64_t>> get_fence(std::string_view resource);
    LockResult<std::optional<std::uint64_t>> drop_fence(std::string_view resource);
    // For watch() and observe().
    [[nodiscard]] Listened listened();
    [[nodiscard]] core::TableCounts counts();

    void start_acquire(const LeaseRequest& request, std::chrono::milliseconds wait,
                       const std::stop_token& stop, Done<Lease> done);
    void start_renew(const Lease& lease, std::chrono::milliseconds ttl, Done<Lease> done);
    void start_release(const Lease& lease, Done<void> done);
    void start_find(std::string_view token, Done<Lease> done);
    // Runs a task on the service's thread.
    void post(std::function<void()> task) { thread_.post(std::move(task)); }

    // What check() says, if that is known without the service's thread.
    [[nodiscard]] std::optional<LockResult<Lease>> check_known(std::string_view token,
                                                               const LockScope& scope,
                                                               LockMode mode) const;
    // The lease, or the error, of a check on it.
    [[nodiscard]] static LockResult<Lease> judge(const Lease& lease, const LockScope& scope,
                                                 LockMode mode);

    // The manager is gone: cancels the requests for locks, those that come later as well, and waits until
    // no call is under way. Does not wait on the service's thread.
    void close();
    // Every call that close() must wait for is counted there.
    [[nodiscard]] const std::shared_ptr<CallsUnderWay>& calls() const { return calls_; }

    // Why this thread may not wait for the engine now: it is the service's.
    [[nodiscard]] std::optional<LockError> why_not_block() const override;

    // Does not wait. The engine's destructor waits until the release is certain.
    void release_quietly(const Lease& lease) override;

    [[nodiscard]] renewal::Watcher& watcher() override { return watcher_; }

    // Does everything that is due now that the clock was moved. For tests.
    void wake();

  private:
    using Then = Acquisitions::Then;

    Engine(const LockManagerOptions& options, service::Clock& clock,
           std::unique_ptr<service::Store> store);

    // Deletes an engine, on another thread if this one is the engine's own.
    static void destroy(Engine* engine);

    template <class T, class Start>
    LockResult<T> wait_for(const Start& start);
    template <class Result>
    Result ask(const service::Request& request,
               std::function<Result(const service::Response&)> to_result);
    void start_renewal(const renewal::HoldPointer& hold, renewal::Time now);

    // The lease, if it is on the board and its time is not over.
    [[nodiscard]] std::shared_ptr<const Lease> find_known(core::Token token) const;

    // On the service's thread.
    void on_event(const core::Event& event);
    void keep_board(const core::Event& event);
    std::optional<service::PromiseId> submit(const service::Request& request, Then then);
    void recount_after(bool has_failed);
    void recount();
    [[nodiscard]] LockResult<Lease> to_result(const service::Response& response) const;
    [[nodiscard]] LockResult<std::optional<std::uint64_t>> ask_fence(
        const service::Request& request);

    const LockManagerOptions options_;
    const std::string holder_;  // for requests that name no holder
    service::Clock& clock_;
    service::EventFeed feed_;
    ServiceThread thread_;
    std::unique_ptr<service::LockService> service_;
    std::unique_ptr<service::Store> store_;
    renewal::Watcher watcher_;
    std::atomic<int> releases_under_way_ = 0;
    const std::shared_ptr<CallsUnderWay> calls_ = std::make_shared<CallsUnderWay>();
    std::atomic<std::uint64_t> waiters_named_ = 0;
    LeaseBoard board_;

    // On the service's thread.
    LeaseBook book_;
    bool must_recount_ = true;
    Acquisitions acquisitions_;
};

}  // namespace holdfast::embedded
