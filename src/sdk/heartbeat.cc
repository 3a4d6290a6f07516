#include "sdk/heartbeat.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace holdfast::sdk {

namespace {

using renewal::Hold;
using renewal::HoldPointer;

constexpr std::size_t workers_max = 4;

// When the system has no thread for a worker.
constexpr std::chrono::milliseconds thread_retry_interval{10};

}  // namespace

Heartbeat::Heartbeat(Renew renew, renewal::Watcher::Now now)
    : renew_(std::move(renew)),
      watcher_(std::move(now),
               [this](const HoldPointer& hold, renewal::Time) { hand_to_worker(hold); }) {}

Heartbeat::~Heartbeat() {
    {
        const Guard guard = watcher_.guard();
        is_stopping_ = true;
        for (const auto& hold : renewing_) hold->renewal.request_stop();
    }
    due_came_.notify_all();
    watcher_.stop();
    for (auto& worker : workers_) worker.join();
}

void Heartbeat::wait_for_renewals() {
    Guard guard = watcher_.guard();
    renewed_.wait(guard, [&] { return due_.empty() && renewing_.empty(); });
}

void Heartbeat::hand_to_worker(const HoldPointer& hold) {
    const bool is_worker_free = idle_ > due_.size();
    if (!is_worker_free && workers_.size() < workers_max) {
        try {
            workers_.emplace_back([this] { work(); });
        } catch (const std::system_error&) {
            if (workers_.empty()) {
                hold->is_renewing = false;
                hold->renew_at = watcher_.now() + thread_retry_interval;
                return;
            }
        }
    }
    due_.push_back(hold);
    due_came_.notify_one();
}

void Heartbeat::work() {
    Guard guard = watcher_.guard();
    while (!is_stopping_) {
        if (due_.empty()) {
            ++idle_;
            due_came_.wait(guard);
            --idle_;
            continue;
        }
        const HoldPointer hold = std::move(due_.front());
        due_.pop_front();
        if (hold->state == Hold::State::held) renew(hold, guard);
        renewed_.notify_all();
    }
}

// Waits for the server without the mutex.
void Heartbeat::renew(const HoldPointer& hold, Guard& guard) {
    const Lease lease = hold->lease;
    const Renewal renewal{.ttl = hold->pace.extend_by,
                          .timeout = std::chrono::ceil<std::chrono::milliseconds>(
                              hold->guaranteed_until - watcher_.now()),
                          .stop = hold->renewal.get_token()};
    renewing_.push_back(hold);
    guard.unlock();
    const Answered<Lease> result = renew_(lease, renewal);
    guard.lock();
    std::erase(renewing_, hold);
    if (result) {
        watcher_.end_renewal(hold, *result);
    } else {
        watcher_.end_renewal(hold, result.error().error);
    }
}

}  // namespace holdfast::sdk
