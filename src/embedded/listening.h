#pragma once

// How a thread of the program listens to the engine: its events, and who leads an election.
//
// Both functions stay until they are stopped, and call the program back on the thread that called
// them. A program that is slow delays nobody: the feed remembers what happens meanwhile, within its
// limits.

#include <functional>
#include <optional>
#include <stop_token>
#include <string_view>

#include "embedded/service_thread.h"
#include "holdfast/election.h"
#include "holdfast/lock_event.h"
#include "holdfast/lock_result.h"
#include "service/events/event_feed.h"
#include "service/lock_service.h"

namespace holdfast::embedded {

// All outlive the calls below, and the feed outlives the thread.
struct Listened {
    service::LockService& service;
    ServiceThread& thread;  // of the service
    service::EventFeed& feed;
    const service::Clock& clock;
};

// As LockManager says.
LockResult<void> watch(const Listened& to, const WatchOptions& options,
                       const std::function<void(const LockEvent&)>& on_event,
                       const std::stop_token& stop);
LockResult<void> observe(const Listened& to, std::string_view election,
                         const std::function<void(const std::optional<Leader>&)>& on_change,
                         const std::stop_token& stop);

}  // namespace holdfast::embedded
