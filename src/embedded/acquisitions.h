#pragma once

// Acquisitions: the requests for locks that have not been answered yet.
//
// No thread waits for any of them. A request is a record here: it waits for its turn in the lock table,
// and for the commit of its grant. It ends in one of three ways, and `done` is called once, with the
// result:
//
//   answered     granted, refused, or its wait is over
//   cancelled    its stop token was stopped first, or close() was called: LockCancelled, and what it may
//                have been granted meanwhile is released
//   not begun    the request makes no sense, or the holder has too many leases
//
// The service's thread decides which of them it is: a stop that comes after the answer changes nothing.
//
// Thread safety: start() from any thread; the rest on the service's thread. Lifetime: that of the engine.

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>

#include "holdfast/lease.h"
#include "holdfast/lock_result.h"
#include "service/ports/executor.h"
#include "service/ports/port.h"

namespace holdfast::embedded {

class Acquisitions {
  public:
    using Then = std::function<void(const service::Response&)>;
    using Done = std::function<void(LockResult<Lease>)>;

    // What they need of the engine.
    struct Parts {
        service::Executor& thread;
        // Asks the service. `then` gets the response: now, or later if a promise is returned.
        std::function<std::optional<service::PromiseId>(const service::Request&, Then)> submit;
        std::function<void(service::PromiseId)> abandon;  // nobody waits for the response any more
        // The token: the one that was asked for, if any.
        std::function<LockResult<Lease>(const service::Response&)> to_result;
        std::function<std::size_t(const core::Owner&)> count_of;  // leases of the owner
        std::size_t leases_per_holder_max = 0;
    };

    explicit Acquisitions(Parts parts) : parts_(std::move(parts)) {}
    Acquisitions(const Acquisitions&) = delete;
    Acquisitions& operator=(const Acquisitions&) = delete;

    // Never calls `done` itself: the service's thread does. REQUIRES: the request has a holder and a
    // waiter.
    void start(LeaseRequest request, std::chrono::milliseconds wait, std::stop_token stop,
               Done done);

    // Cancels all of them, and all that are started later.
    void close();

  private:
    struct Acquiring;
    using Pointer = std::shared_ptr<Acquiring>;

    void begin(const Pointer& acquiring);
    void ask(const Pointer& acquiring);
    void heed_stop(const Pointer& acquiring);
    void cancel(const Pointer& acquiring);
    void take(const Pointer& acquiring, const service::Response& response);
    void renew(const Pointer& acquiring, const Lease& found);
    void end(const Pointer& acquiring, const LockResult<Lease>& result);
    void stop_waiting(Acquiring& acquiring);

    const Parts parts_;
    std::list<Pointer> under_way_;                          // the oldest first
    std::unordered_map<std::string, std::size_t> waiting_;  // of them, by holder
    bool is_closed_ = false;
};

}  // namespace holdfast::embedded
