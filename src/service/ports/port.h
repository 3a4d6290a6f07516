#pragma once

// Port: where a door hands in requests.
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
// Every request has an Asker. The doors ask for rights before they submit a request; the service asks
// once more when it runs a request for a lock, and for as long as the request waits.
//
// Thread safety: a port belongs to one thread; answers are called there, never inside submit().

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "service/request.h"

namespace holdfast::service {

// The scopes that a client has a right to, as its token says at the moment of the question. Null: all
// of them. It is kept while a request waits. Thread safety: asked on the thread of the service.
using AllowedScopes = std::shared_ptr<const core::ScopeFilter>;

// Who asks.
struct Asker {
    // For logs, events and the history: the name of the client's access token; without one, the door
    // and the client's address (rights/asker.h). Empty: nobody, or the server itself.
    std::string_view by = {};
    // What the client may acquire; for ForceRelease: what it may end. A request for anything else is
    // refused as `denied`. Other requests do not look at it.
    AllowedScopes allowed = {};
};

// The name of the access token in Asker::by; empty if it names none.
[[nodiscard]] inline std::string_view access_token_in(std::string_view by) {
    return by.find('@') == std::string_view::npos ? by : std::string_view();
}

// Something that a response is owed to. One of these is called, once, and is the last that a port
// does with it. The response is good during the call.
class Answer {
  public:
    virtual void take(const Response& response) = 0;
    virtual void drop() = 0;  // there will be none

  protected:
    ~Answer() = default;
};

// An answer that is made with std::make_unique for one response.
class OwnAnswer : public Answer {
  public:
    virtual ~OwnAnswer() = default;
    virtual void on_response(const Response& response) = 0;

    void take(const Response& response) final {
        const std::unique_ptr<OwnAnswer> self(this);
        on_response(response);
    }
    void drop() final { delete this; }
};

struct DropAnswer {
    DropAnswer() = default;
    template <class Own>
    DropAnswer(std::default_delete<Own> /*deleter*/) {}  // so that make_unique<Own>() converts

    void operator()(Answer* answer) const { answer->drop(); }
};
using AnswerPointer = std::unique_ptr<Answer, DropAnswer>;

// An answer that calls `function` with the response.
template <class Function>
[[nodiscard]] AnswerPointer answer_by(Function function) {
    class Caller final : public OwnAnswer {
      public:
        explicit Caller(Function called) : function_(std::move(called)) {}
        void on_response(const Response& response) override { function_(response); }

      private:
        Function function_;
    };
    return std::make_unique<Caller>(std::move(function));
}

// A promised response. Numbers are never reused within a port; where it keeps the promise, it
// knows.
struct PromiseId {
    std::uint64_t number = 0;
    std::uint32_t slot = 0;

    bool operator==(const PromiseId&) const = default;
};

class Port {
  public:
    virtual ~Port() = default;

    // Runs `request`. The response, good until the next call; or nullptr when it will come later.
    [[nodiscard]] const Response* submit(Request&& request, std::string_view by = {},
                                         AllowedScopes allowed = {}) {
        return take(request, {.by = by, .allowed = std::move(allowed)});
    }
    [[nodiscard]] const Response* submit(const Request& request, std::string_view by = {},
                                         AllowedScopes allowed = {}) {
        Request copy = request;
        return take(copy, {.by = by, .allowed = std::move(allowed)});
    }

    // Who the last request's response goes to. REQUIRES: submit() has just returned nullptr.
    virtual PromiseId await(AnswerPointer answer) = 0;

    // Nobody is there any more to hear the response: the request stops waiting, and what it was
    // granted without anybody having been told is released. Its Answer is destroyed uncalled. Does
    // nothing if the response has been given.
    virtual void abandon(PromiseId promise) = 0;

  private:
    // What submit() does; with the request it may do as it likes.
    [[nodiscard]] virtual const Response* take(Request& request, const Asker& asker) = 0;
};

// Asks the service and calls `then` with the response: at once, or when the service has responded. If
// the service never does, because it ends, `then` is destroyed uncalled. On the thread of the port.
inline void ask(Port& port, const Request& request, std::function<void(const Response&)> then,
                std::string_view by = {}, AllowedScopes allowed = {}) {
    const Response* const response = port.submit(request, by, std::move(allowed));
    if (response != nullptr) return then(*response);
    port.await(answer_by(std::move(then)));
}

// Tells observers of an act that is done.
inline void tell(Port& port, const TellAct& act, std::string_view by) {
    ask(
        port, act, [](const Response&) {}, by);
}

}  // namespace holdfast::service
