#pragma once

#include <functional>
#include <map>
#include <mutex>

#include "files/tree/change.h"

namespace holdfast::doors::hengdang {

// ChangeHub: tells every loop that wants to know what changes in the tree.
//
// Thread safety: any thread. A listener is called on the thread that made the change, must not take
// long, and must not call the hub.
class ChangeHub {
  public:
    using Listener = std::function<void(const files::Change&)>;

    // `key` names the listener until it is removed.
    void add(const void* key, Listener listener) {
        const std::lock_guard lock(mutex_);
        listeners_[key] = std::move(listener);
    }
    void remove(const void* key) {
        const std::lock_guard lock(mutex_);
        listeners_.erase(key);
    }
    void publish(const files::Change& change) const {
        const std::lock_guard lock(mutex_);
        for (const auto& [key, listener] : listeners_) listener(change);
    }

  private:
    mutable std::mutex mutex_;
    std::map<const void*, Listener> listeners_;
};

}  // namespace holdfast::doors::hengdang
