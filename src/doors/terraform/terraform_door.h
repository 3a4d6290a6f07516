#pragma once

// TerraformDoor: what all loops share to serve Terraform's `http` backend: the store of states, their
// locks, and the threads of the disk.
//
// The store is opened by the first request, so that a server without Terraform has no folder and no
// threads for it. The nodes of a cluster share one folder. Only the node that leads uses it: it may
// open the store after serve(), and drops the store at stop_serving(). The store cannot be opened
// while the node that has led before is not done with it.
//
// Thread safety: any thread, except for close().

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <tl/expected.hpp>

#include "base/work_pool.h"
#include "doors/terraform/state_locks.h"
#include "files/versions/version_store.h"

namespace holdfast::doors::terraform {

// The options of the operator.
struct TerraformOptions {
    core::Duration hold_max{0};  // how long a lock lasts at most; zero: until it is released
};

// Where the states are.
struct StatePlace {
    std::string folder;         // made if it does not exist
    bool is_temporary = false;  // a new folder instead, which is removed at the end
    std::string refusal;        // not empty: there is no place, for this reason
};

class TerraformDoor {
  public:
    // All of it outlives the last turn of the loops.
    struct Parts {
        service::Port& port;          // on the executor's thread
        service::Executor& executor;  // of the service
        const service::Clock& clock;
        StatePlace place;
    };
    TerraformDoor(const TerraformOptions& options, Parts parts);
    TerraformDoor(const TerraformDoor&) = delete;
    TerraformDoor& operator=(const TerraformDoor&) = delete;
    ~TerraformDoor();

    // Requests are served from now on.
    void serve();
    // Requests are refused from now on. Those that are under way keep the store until they end.
    void stop_serving();

    // The store, which is opened if it is not open; or why it cannot be had. Waits for the disk.
    using StorePointer = std::shared_ptr<files::VersionStore>;
    [[nodiscard]] tl::expected<StorePointer, StateAnswer> store();

    [[nodiscard]] StateLocks& locks() { return locks_; }
    // The threads of the disk.
    [[nodiscard]] base::WorkPool& disk();

    // Lets the threads of the disk finish and end. REQUIRES: the loops have stopped and will not run
    // again; the service still exists.
    void close();

  private:
    [[nodiscard]] base::Result<StorePointer> open_store();

    const Parts parts_;
    StateLocks locks_;
    std::mutex opening_;  // one thread opens the store at a time
    std::string temporary_folder_;
    std::mutex mutex_;
    // Under mutex_:
    bool is_serving_ = false;
    std::uint64_t term_ = 0;  // counts the calls of serve() and stop_serving()
    StorePointer store_;
    std::unique_ptr<base::WorkPool> disk_;
};

}  // namespace holdfast::doors::terraform
