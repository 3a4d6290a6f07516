#pragma once

// Store: where the truth is kept when the server is not running.

#include <functional>

#include "base/result.h"
#include "core/changes.h"

namespace holdfast::service {

// Thread safety: called from the service's thread; `done` may be called on any thread.
class Store {
  public:
    virtual ~Store() = default;

    // Whether nothing survives the process anyway. Then no answer has to wait for a commit.
    [[nodiscard]] virtual bool is_volatile() const = 0;

    // Makes `changes` durable, all or none, after everything committed before; then calls `done`,
    // perhaps before returning. REQUIRES: the commit before this one is done.
    virtual void commit(core::Changes changes, std::function<void(base::Result<void>)> done) = 0;
};

}  // namespace holdfast::service
