#pragma once

// Stage: plays the steps of a scenario on a lock table.
//
// Between two steps time passes as in the server: the table is advanced at each of its deadlines.
// After every call the invariants of the table are checked.
//
// SCOPE is a name (`job`) or a text form (`path:/a`, `inode:7`, `range:7:0-4096`,
// `semaphore:printers`). WHO is an owner, `name` or `name@door`. After `connect WHO`, everything that
// WHO does belongs to that session.
//
//     acquire SCOPE by WHO      does not queue; if WHO holds it, renews (the homelab's POST)
//     try SCOPE by WHO          does not queue
//     lock SCOPE by WHO         queues, `within 10s` or for ever
//     enqueue SCOPE by WHO      two-phase, first half
//     wait SCOPE by WHO         two-phase, second half, `within 10s` or for ever
//         options of all but wait: shared, permits N, ttl 30s (the default), grace 5s, memory 60s,
//         as WAITER (a thread of WHO), refuse (a deadlock)
//     renew SCOPE by WHO        with the last token that WHO got for SCOPE; ttl 30s
//     renew SCOPE with #1       with the token of that grant
//     release SCOPE by WHO      the same two forms
//     unlock SCOPE by WHO       as an owner that knows no token
//     again SCOPE by WHO        stays in the queue, and waits `within 10s` from now on
//     cancel SCOPE by WHO       leaves the queue
//     force SCOPE               ends all leases on SCOPE, whoever the holders are
//     connect WHO               opens a session
//     disconnect WHO            ends the session; with `keep` its leases stay
//     stop                      the table is not advanced until the next step
//     show SCOPE                draws holders and queue
//     deadlocks                 lists who waits for whom for ever
//
// acquire, try, lock, renew, release, again and cancel take a set, too: `a,path:/b`.

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
    // Plays the step and returns its result. The error says why the command makes no sense.
    base::Result<Result> play(const Step& step);

    // Ends every session and lets everything expire. Returns what is left; that should be nothing.
    core::TableCounts empty();

  private:
    using OwnerAndScope = std::pair<std::string, std::string>;

    void pass_time(core::Time until);
    base::Result<std::string> perform(const Words& words);
    base::Result<std::string> ask(const Words& words, const std::vector<core::SetMember>& set);
    base::Result<std::string> use_token(const Words& words, const core::Scope& scope);
    base::Result<std::string> wait_on(const Words& words);
    base::Result<std::string> cancel(const Words& words);
    base::Result<std::string> disconnect(const Words& words);
    [[nodiscard]] std::string draw(const core::Scope& scope);
    [[nodiscard]] std::string list_deadlocks();

    // Adds the events of the last call to the effects, except the one that the answer tells.
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
