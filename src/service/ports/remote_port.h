#pragma once

// RemotePort: a port on another thread than the service's.
//
// What one turn of its thread submits travels to the service as one batch, and what one turn of the
// service answers travels back as one: two hand-overs for any number of requests, and no lock is
// held while anything runs.
//
// Thread safety: Port's methods on `here`'s thread only.
// Lifetime: destroyed after both executors have stopped; before the service.

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "service/lock_service.h"
#include "service/ports/executor.h"
#include "service/ports/port.h"

namespace holdfast::service {

class RemotePort final : public Port {
  public:
    // `here` is the executor of the thread that uses the port, `there` the service's.
    RemotePort(Executor& here, Executor& there, LockService& service);

    PromiseId await(AnswerPointer answer) override;
    void abandon(PromiseId promise) override;

  private:
    // A lease, and how the response names it that came too late.
    struct Unheard {
        core::Token lease;
        LockService::Naming naming = LockService::Naming::none;
    };
    struct Item {
        PromiseId promise;
        bool is_abandoned = false;         // no request: give up an earlier one,
        std::optional<Unheard> unheard{};  // or what came of it
        Request request;
        Asker asker = {};
    };
    struct Outgoing {
        Texts texts;
        std::vector<Item> items;
    };
    struct Returned {
        PromiseId promise;
        LockService::Naming naming = LockService::Naming::none;
        Response response;
    };
    struct Incoming {
        Texts texts;
        std::vector<Returned> responses;
    };
    // An answer that a response is owed to. A slot is used again when its answer was given.
    struct Awaited {
        std::uint64_t promise_number = 0;  // 0: the slot is free
        AnswerPointer answer;
    };
    class Forward;

    [[nodiscard]] const Response* take(Request& request, const Asker& asker) override;

    // Here.
    [[nodiscard]] AnswerPointer take_awaited(PromiseId promise);
    void send();
    void undo(const Returned& returned);
    void receive(const Incoming& incoming);

    // There.
    void run(const Outgoing& outgoing);
    void give_up(PromiseId promise);
    void return_later(PromiseId promise, LockService::Naming naming, const Response& response);
    void send_back();

    Executor& here_;
    Executor& there_;
    LockService& service_;

    std::uint64_t next_promise_ = 1;
    Outgoing outgoing_;
    std::vector<Awaited> awaited_;
    std::vector<std::uint32_t> free_slots_;  // of awaited_

    // Touched on the service's thread only.
    Incoming returning_;
    bool is_returning_ = false;
    std::unordered_map<std::uint64_t, PromiseId> waiting_there_;
};

}  // namespace holdfast::service
