#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace holdfast::files {

// PathGates: one commit at a time for each path.
//
// Only paths that somebody is at have a gate, so there are never more than threads.
//
// Thread safety: any thread.
class PathGates {
    struct Gate {
        std::mutex mutex;
        std::size_t users = 0;  // inside or before it
    };
    using Gates = std::unordered_map<std::string, Gate>;  // whose elements do not move

  public:
    // Being inside. Ends with the object, which the gates outlive.
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

    // Waits until nobody else is at `path`. REQUIRES: this thread is inside no gate.
    [[nodiscard]] Pass enter(const std::string& path);

    // At how many paths somebody is.
    [[nodiscard]] std::size_t size() const;

  private:
    void leave(Gates::value_type& entry);

    mutable std::mutex mutex_;
    Gates gates_;
};

}  // namespace holdfast::files
