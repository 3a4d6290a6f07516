#pragma once

// Stage: plays the steps of a scenario on a lock table.
//
// Between two steps time passes as it does in the server: the table is advanced whenever it asks to
// be. After every call the table's invariants are checked.
//
// SCOPE is a name (`job`) or a text form (`path:/a`, `inode:7`, `range:7:0-4096`,
// `semaphore:printers`). WHO is an owner, `name` or `name@door`; who has connected acts within that
// session.
//
//     acquire SCOPE by WHO      now or never; asking again renews (the homelab's POST)
//     try SCOPE by WHO          now or never
//     lock SCOPE by WHO         queues, `within 10s` or for ever
//     enqueue SCOPE by WHO      two-phase, first half
//     wait SCOPE by WHO         two-phase, second half, `within 10s` or for ever
//         options of all but wait: shared, permits N, ttl 30s (the default), grace 5s, memory 60s
//     renew SCOPE by WHO        with the token WHO got last for SCOPE; ttl 30s
//     renew SCOPE with #1       with the token of that grant
//     release SCOPE by WHO      the same two forms
//     unlock SCOPE by WHO       as an owner that knows no token
//     again SCOPE by WHO        keeps its place in the queue, and waits from now on `within 10s`
//     cancel SCOPE by WHO       leaves the queue
//     force SCOPE               ends all holds, whoever has them
//     connect WHO               opens a session
//     disconnect WHO            ends it; with `keep` its leases live on
//     stop                      the server stands still until the next step
//     show SCOPE                draws holders and queue

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "core/lock_table.h"
#include "scenarios/script.h"
#include "scenarios/words.h"

namespace holdfast::scenarios {

class Stage {
  public:
    // Does the step and says what came of it. The error says why the command makes no sense.
    base::Result<Result> play(const Step& step);

    // Ends every session and lets all the time pass that anything still needs. Returns what is left
    // then; there should be nothing.
    core::TableCounts empty();

  private:
    using OwnerAndScope = std::pair<std::string, std::string>;

    void pass_time(core::Time until);
    base::Result<std::string> perform(const Words& words);
    base::Result<std::string> ask(const Words& words, const core::Scope& scope);
    base::Result<std::string> use_token(const Words& words, const core::Scope& scope);
    base::Result<std::string> wait_on(const Words& words);
    base::Result<std::string> cancel(const Words& words);
    base::Result<std::string> disconnect(const Words& words);
    [[nodiscard]] std::string draw(const core::Scope& scope);

    // Notes the events of the last call as effects, but for the one that is itself the answer.
    void collect(const core::Outcome* answer = nullptr);
    void note(const core::Event& event);
    [[nodiscard]] std::string format_outcome(const core::Outcome& outcome) const;

    core::Owner owner(std::string_view who);
    [[nodiscard]] std::string name(const core::Owner& owner) const;
    [[nodiscard]] core::SessionId session(std::string_view who) const;

    core::LockTable table_;
    core::Time at_;
    bool is_stopped_ = false;
    std::vector<std::string> effects_;
    std::vector<std::string> doors_{""};
    std::map<OwnerAndScope, core::Fence, std::less<>> last_grants_;
    std::map<core::Fence, core::Token> tokens_;
    std::map<OwnerAndScope, core::WaiterId> waiters_;
    std::map<std::string, core::SessionId, std::less<>> sessions_;
    std::uint64_t last_secret_ = 0;
};

}  // namespace holdfast::scenarios
