#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace holdfast::files {

// PathGates: one commit at a time for each path.
//
// A path has a gate only while a thread is inside it or waits before it, so there are never more
// gates than threads.
//
// Thread safety: any thread.
class PathGates {
    struct Gate {
        std::mutex mutex;
        std::size_t users = 0;  // threads inside it or waiting before it
    };
    using Gates = std::unordered_map<std::string, Gate>;  // its elements do not move

  public:
    // The thread is inside the gate as long as this object lives. The gates outlive it.
    class Pass {
      public:
        Pass(Pass&& other) noexcept
            : gates_(other.gates_), entry_(std::exchange(other.entry_, nullptr)) {}
        Pass& operator=(Pass&&) = delete;
        ~Pass() {
            if (entry_ != nullptr) gates_.leave(*entry_);
        }

      private:
        friend class PathGates;
        Pass(PathGates& gates, Gates::value_type& entry) : gates_(gates), entry_(&entry) {}

        PathGates& gates_;
        Gates::value_type* entry_;
    };

    // Waits until no other thread is inside the gate of `path`. REQUIRES: this thread is inside no
    // gate.
    [[nodiscard]] Pass enter(const std::string& path) {
        Gates::value_type* entry = nullptr;
        {
            const std::lock_guard lock(mutex_);
            entry = &*gates_.try_emplace(path).first;
            ++entry->second.users;
        }
        entry->second.mutex.lock();
        return {*this, *entry};
    }

    // How many paths have a gate.
    [[nodiscard]] std::size_t size() const {
        const std::lock_guard lock(mutex_);
        return gates_.size();
    }

  private:
    void leave(Gates::value_type& entry) {
        entry.second.mutex.unlock();
        const std::lock_guard lock(mutex_);
        if (--entry.second.users == 0) gates_.erase(gates_.find(entry.first));
    }

    mutable std::mutex mutex_;
    Gates gates_;
};

}  // namespace holdfast::files
