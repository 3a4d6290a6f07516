#pragma once

// A coroutine for tests: it begins at once, and its owner may destroy it while it waits.

#include <coroutine>
#include <exception>
#include <utility>

namespace holdfast::embedded::testing {

class Coroutine {
  public:
    struct promise_type {  // NOLINT(readability-identifier-naming): the language's own name
        Coroutine get_return_object() {
            return Coroutine(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        static std::suspend_never initial_suspend() noexcept { return {}; }
        static std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        static void unhandled_exception() { std::terminate(); }
    };

    Coroutine(Coroutine&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Coroutine& operator=(Coroutine&& other) noexcept {
        destroy();
        handle_ = std::exchange(other.handle_, nullptr);
        return *this;
    }
    ~Coroutine() { destroy(); }

    void destroy() {
        if (handle_) std::exchange(handle_, nullptr).destroy();
    }
    [[nodiscard]] bool is_done() const { return handle_.done(); }

  private:
    explicit Coroutine(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

    std::coroutine_handle<promise_type> handle_;
};

}  // namespace holdfast::embedded::testing
