#pragma once

// Call: a result that one thread waits for and another one gives.
//
// The one who waits may go away instead; then the one who gives learns that nobody took it.
//
// Thread safety: wait() from one thread, once; give() from another, once.

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace holdfast::embedded {

template <class Result>
class Call {
  public:
    // Until there is a result; nothing if `stop` came first.
    std::optional<Result> wait(std::stop_token stop = {}) {
        std::unique_lock guard(mutex_);
        given_.wait(guard, std::move(stop), [this] { return result_.has_value(); });
        is_abandoned_ = !result_;
        return std::move(result_);
    }

    // False if nobody waits any more.
    bool give(Result result) {
        const std::lock_guard guard(mutex_);
        if (is_abandoned_) return false;
        result_ = std::move(result);
        given_.notify_one();
        return true;
    }

    [[nodiscard]] bool is_abandoned() const {
        const std::lock_guard guard(mutex_);
        return is_abandoned_;
    }

  private:
    mutable std::mutex mutex_;
    std::condition_variable_any given_;
    std::optional<Result> result_;
    bool is_abandoned_ = false;
};

}  // namespace holdfast::embedded
