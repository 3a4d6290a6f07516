#pragma once

// GuardedWriter: sends the transactions of a commit, one after the other, each until its result is
// known.
//
// Thread safety: none; on the thread of the loop.
// Lifetime: `etcd` and `slots` outlive this; nothing is called after the destructor.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/guarded_commit.h"
#include "cluster/timers.h"
#include "etcd/api.h"

namespace holdfast::cluster {

class GuardedWriter {
  public:
    struct Result {
        Verdict verdict = Verdict::done;  // never `again`; full: the step is not done
        std::string why;                  // unless it is done
        bool is_partial = false;          // not done, but steps before it are
        etcd::Revision revision = 0;      // done: of etcd after it
        // Keys of the history that were left out, because etcd had rejected a step with them.
        std::vector<std::string> left_out = {};
    };
    using Done = std::function<void(const Result&)>;

    // `keys` outlive this. Each attempt is given up after `timeout`. `look_at_time` is called when an answer has arrived
    // and before it is judged: after the deadline of the lead it calls give_up().
    GuardedWriter(etcd::Api& etcd, TimerSlots& slots, const Keys& keys, core::Duration timeout,
                  std::function<void()> look_at_time)
        : etcd_(etcd),
          slots_(slots),
          keys_(keys),
          timeout_(timeout),
          look_at_time_(std::move(look_at_time)) {}

    // The node leads by this term from now on. REQUIRES: not is_busy().
    void begin(const Term& term) { term_ = term; }
    // With the counter of the last transaction that was done.
    [[nodiscard]] const Term& term() const { return term_; }

    // Calls `done` once, never inside this call. REQUIRES: not is_busy(); there is a step.
    void write(std::vector<GuardedStep> steps, Done done);
    [[nodiscard]] bool is_busy() const { return done_ != nullptr; }

    // The lead is lost: what is under way ends as `deposed`.
    void give_up(const std::string& why);

  private:
    void send();
    [[nodiscard]] bool leaves_out_history(const std::string& why);
    void on_answer(const etcd::Answer<etcd::TransactionAnswer>& answer);
    [[nodiscard]] Verdict judge_answer(const etcd::Answer<etcd::TransactionAnswer>& answer,
                                       std::string& why);
    void try_later();
    void end(Result result);

    etcd::Api& etcd_;
    TimerSlots& slots_;
    const Keys& keys_;
    const core::Duration timeout_;
    const std::function<void()> look_at_time_;
    Term term_;
    std::vector<GuardedStep> steps_;
    std::size_t next_ = 0;            // of steps_: the one under way
    bool may_have_happened_ = false;  // no attempt at it has told
    // Why etcd is full. Not empty: the step was answered so, and a check is under way.
    std::string full_;
    std::vector<std::string> left_out_;
    std::shared_ptr<int> attempt_;  // the one whose answer is awaited
    Done done_;
};

}  // namespace holdfast::cluster
