#pragma once

// Port: where a dialect hands in requests.
//
// A response that can be given at once is returned, and costs no allocation. One that has to wait
// (for a lock, a commit, another thread) is promised to an Answer:
//
//     if (const Response* response = port.submit(request)) {
//         format(*response);
//     } else {
//         port.await(std::make_unique<MyAnswer>(...));
//     }
//
// Thread safety: a port belongs to one thread; answers are called there, never inside submit().

#include <cstdint>
#include <memory>
#include <utility>

#include "service/request.h"

namespace holdfast::service {

// Something that a response is owed to.
class Answer {
  public:
    virtual ~Answer() = default;
    // Called at most once. The response is good during the call.
    virtual void on_response(const Response& response) = 0;
};

// An answer that calls `function` with the response.
template <class Function>
[[nodiscard]] std::unique_ptr<Answer> answer_by(Function function) {
    class Caller final : public Answer {
      public:
        explicit Caller(Function called) : function_(std::move(called)) {}
        void on_response(const Response& response) override { function_(response); }

      private:
        Function function_;
    };
    return std::make_unique<Caller>(std::move(function));
}

// A promised response. Never reused within a port.
enum class PromiseId : std::uint64_t {};

[[nodiscard]] constexpr std::uint64_t as_number(PromiseId promise) {
    return static_cast<std::uint64_t>(promise);
}

class Port {
  public:
    virtual ~Port() = default;

    // Runs `request`. The response, good until the next call; or nullptr when it will come later.
    [[nodiscard]] virtual const Response* submit(const Request& request) = 0;

    // Who the last request's response goes to. REQUIRES: submit() has just returned nullptr.
    virtual PromiseId await(std::unique_ptr<Answer> answer) = 0;

    // Nobody is there any more to hear the response: the request stops waiting, and what it was
    // granted without anybody having been told is released. Its Answer is destroyed uncalled. Does
    // nothing if the response has been given.
    virtual void abandon(PromiseId promise) = 0;
};

}  // namespace holdfast::service
