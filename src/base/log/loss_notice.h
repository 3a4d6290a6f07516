#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

namespace holdfast::base {

// LossNotice: that something was lost, and the program that is told of it: once, on a thread of its
// own, where it may block, throw, or destroy what it likes.
//
// Thread safety: `on_lost` and `loss` are guarded by whoever has the notice, until there is a loss;
// from then on they do not change but by the teller. The rest from any thread.
template <class Loss>
class LossNotice {
  public:
    std::function<void(const Loss&)> on_lost;
    std::optional<Loss> loss;
    std::stop_source stop;  // is stopped when the program is told

    // Begins to tell. `keeper` keeps this alive meanwhile. False if no thread is to be had: to be
    // tried again. REQUIRES: there is a loss.
    template <class Keeper>
    [[nodiscard]] bool start_telling(Keeper keeper) {
        try {
            std::thread([this, keeper = std::move(keeper)] { tell(); }).detach();
            return true;
        } catch (const std::system_error&) {
            return false;
        }
    }

    // Returns when the program has been told, unless this is who tells it.
    void wait_until_told() const {
        if (teller_.load() != std::this_thread::get_id()) is_told_.wait(false);
    }

  private:
    // What the callback owns may take its time to be destroyed, so that is done here, too.
    void tell() {
        teller_ = std::this_thread::get_id();
        stop.request_stop();
        if (on_lost) {
            try {
                on_lost(*loss);
            } catch (...) {  // NOLINT(bugprone-empty-catch): nobody is there to catch it
            }
        }
        on_lost = nullptr;
        is_told_ = true;
        is_told_.notify_all();
    }

    std::atomic<bool> is_told_{false};
    std::atomic<std::thread::id> teller_{};
};

}  // namespace holdfast::base
