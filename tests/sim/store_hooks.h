#pragma once

#include <functional>

#include "core/values/request.h"
#include "service/store.h"

namespace holdfast::sim {

// Who is told what the store does, and what it can ask for.
struct StoreHooks {
    std::function<void(core::Duration, std::function<void()>)> later;    // if the server lives then
    std::function<void(core::Duration, std::function<void()>)> in_turn;  // the same, in its turn
    // On the server: now, or when it goes on. REQUIRES: not called by the server itself.
    std::function<void(std::function<void()>)> enter;
    std::function<void()> crash;  // of the server, at once
    std::function<void()> on_failure;
    std::function<void()> on_deposed;
    std::function<void(const service::Commit&)> on_commit;
    std::function<void()> on_recovering;
    std::function<void(const core::RestoreRequest&)> on_restored;
    std::function<void()> on_recovered;
};

}  // namespace holdfast::sim
