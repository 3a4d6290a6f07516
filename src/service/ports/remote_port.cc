#include "service/ports/remote_port.h"

#include <utility>

#include "base/check.h"

namespace holdfast::service {

// Takes the service's answer to a request that had to wait.
class RemotePort::Forward final : public OwnAnswer {
  public:
    Forward(RemotePort& port, const Item& item)
        : port_(port), promise_(item.promise), naming_(LockService::naming_of(item.request)) {}

    void on_response(const Response& response) override {
        port_.waiting_there_.erase(promise_.number);
        port_.return_later(promise_, naming_, response);
    }

  private:
    RemotePort& port_;
    const PromiseId promise_;
    const LockService::Naming naming_;
};

RemotePort::RemotePort(Executor& here, Executor& there, LockService& service)
    : here_(here), there_(there), service_(service) {
    here_.bind([this] { send(); }, [] {});
}

const Response* RemotePort::take(Request& request, const Asker& asker) {
    outgoing_.texts.keep_texts_of(request);
    outgoing_.items.push_back(
        {.promise = {.number = next_promise_++},
         .request = request,
         .asker = {.by = outgoing_.texts.keep(asker.by), .allowed = asker.allowed}});
    here_.at_end_of_turn();
    return nullptr;
}

// The request was abandoned while its response was on the way: what that gives, nobody would ever
// give back. The service knows whether others have heard of the lease.
void RemotePort::undo(const Returned& returned) {
    const Response& response = returned.response;
    if (!response.failure.empty()) return;
    if (returned.naming != LockService::Naming::none && LockService::names_lease(response)) {
        const core::Token lease = response.outcome.lease.token;
        outgoing_.items.push_back({.unheard = Unheard{.lease = lease, .naming = returned.naming}});
        here_.at_end_of_turn();
    }
    // Nobody waits for this answer.
    if (response.session) static_cast<void>(submit(EndSession{.session = response.session}));
    if (response.outcome.refusal == core::Refusal::still_waiting) {
        there_.post([this, waiter = response.outcome.waiter] { service_.give_up_place(waiter); });
    }
}

PromiseId RemotePort::await(AnswerPointer answer) {
    // The request is still the last of the batch.
    CHECK(!outgoing_.items.empty());
    PromiseId& promise = outgoing_.items.back().promise;
    CHECK(promise.number == next_promise_ - 1);
    if (free_slots_.empty()) {
        free_slots_.push_back(static_cast<std::uint32_t>(awaited_.size()));
        awaited_.emplace_back();
    }
    promise.slot = free_slots_.back();
    free_slots_.pop_back();
    awaited_[promise.slot] = {.promise_number = promise.number, .answer = std::move(answer)};
    return promise;
}

// The answer of the promise, whose slot is free now; null if nobody awaits it any more.
AnswerPointer RemotePort::take_awaited(PromiseId promise) {
    if (promise.slot >= awaited_.size()) return nullptr;
    Awaited& awaited = awaited_[promise.slot];
    if (awaited.promise_number != promise.number) return nullptr;
    free_slots_.push_back(promise.slot);
    awaited.promise_number = 0;
    return std::move(awaited.answer);
}

void RemotePort::abandon(PromiseId promise) {
    if (!take_awaited(promise)) return;
    outgoing_.items.push_back({.promise = promise, .is_abandoned = true});
    here_.at_end_of_turn();
}

void RemotePort::send() {
    if (outgoing_.items.empty()) return;
    // A shared_ptr because std::function wants to be copyable; the batch itself is never shared.
    auto batch = std::make_shared<Outgoing>(std::exchange(outgoing_, {}));
    outgoing_.items.reserve(batch->items.size());  // the next batch is likely to be as large
    there_.post([this, batch] { run(*batch); });
}

void RemotePort::run(const Outgoing& outgoing) {
    for (const Item& item : outgoing.items) {
        if (item.is_abandoned) {
            give_up(item.promise);
        } else if (item.unheard) {
            service_.give_up(item.unheard->lease, item.unheard->naming);
        } else if (const Response* response =
                       service_.submit(item.request, item.asker.by, item.asker.allowed)) {
            return_later(item.promise, LockService::naming_of(item.request), *response);
        } else {
            const PromiseId there = service_.await(std::make_unique<Forward>(*this, item));
            waiting_there_.emplace(item.promise.number, there);
        }
    }
}

void RemotePort::give_up(PromiseId promise) {
    const auto found = waiting_there_.find(promise.number);
    if (found != waiting_there_.end()) {
        const PromiseId there = found->second;
        waiting_there_.erase(found);
        service_.abandon(there);
    }
}

void RemotePort::return_later(PromiseId promise, LockService::Naming naming,
                              const Response& response) {
    returning_.responses.push_back({.promise = promise, .naming = naming, .response = response});
    returning_.texts.keep_texts_of(returning_.responses.back().response);
    if (std::exchange(is_returning_, true)) return;
    // Posted, so that everything that is answered now goes back together.
    there_.post([this] { send_back(); });
}

void RemotePort::send_back() {
    is_returning_ = false;
    auto batch = std::make_shared<Incoming>(std::exchange(returning_, {}));
    returning_.responses.reserve(batch->responses.size());
    here_.post([this, batch] { receive(*batch); });
}

void RemotePort::receive(const Incoming& incoming) {
    for (const Returned& returned : incoming.responses) {
        if (AnswerPointer answer = take_awaited(returned.promise)) {
            answer.release()->take(returned.response);
        } else {
            undo(returned);
        }
    }
}

}  // namespace holdfast::service
