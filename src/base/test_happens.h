#pragma once

// happens(): for tests that wait for another thread or process, and must fail instead of waiting for ever.

#include <chrono>
#include <thread>

namespace holdfast::base {

// Asks again and again until the condition is true. False if it is still not true after the patience, which is
// far longer than a slow machine needs.
template <class Condition>
[[nodiscard]] bool happens(Condition condition,
                           std::chrono::seconds patience = std::chrono::seconds{100}) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return true;
}

}  // namespace holdfast::base
