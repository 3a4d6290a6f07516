#include "cluster/guarded_writer.h"

#include <utility>

#include "base/check.h"
#include "base/log/log.h"

namespace holdfast::cluster {

namespace {

// How long after a failure the same transaction is sent again.
constexpr core::Duration writing_pause = std::chrono::milliseconds{50};

}  // namespace

void GuardedWriter::write(std::vector<GuardedStep> steps, Done done) {
    CHECK(!is_busy() && !steps.empty());
    steps_ = std::move(steps);
    next_ = 0;
    may_have_happened_ = false;
    full_.clear();
    left_out_.clear();
    done_ = std::move(done);
    send();
}

void GuardedWriter::send() {
    attempt_ = std::make_shared<int>(0);
    const GuardedStep step = full_.empty() ? steps_[next_] : plan_check(keys_, term_);
    etcd_.transact(step.transaction, timeout_,
                   [this, attempt = std::weak_ptr<int>(attempt_)](
                       const etcd::Answer<etcd::TransactionAnswer>& answer) {
                       if (attempt.expired()) return;
                       look_at_time_();
                       if (!attempt.expired()) on_answer(answer);
                   });
}

void GuardedWriter::on_answer(const etcd::Answer<etcd::TransactionAnswer>& answer) {
    attempt_.reset();
    Result result;
    result.verdict = judge_answer(answer, result.why);
    if (result.verdict == Verdict::again) return try_later();
    if (result.verdict == Verdict::full && full_.empty()) {
        full_ = result.why;
        return send();
    }
    if (result.verdict == Verdict::rejected && leaves_out_history(result.why)) return send();
    if (result.verdict != Verdict::done) {
        if (result.verdict == Verdict::full) result.why = full_;
        // An earlier attempt may still be done, so it would be wrong to say that nothing is written.
        if (may_have_happened_) result.verdict = Verdict::deposed;
        result.is_partial = next_ > 0;
        return end(std::move(result));
    }
    term_.counter = steps_[next_].after;
    may_have_happened_ = false;
    full_.clear();
    if (++next_ < steps_.size()) return send();
    result.revision = answer->revision;
    result.left_out = std::move(left_out_);
    end(std::move(result));
}

Verdict GuardedWriter::judge_answer(const etcd::Answer<etcd::TransactionAnswer>& answer,
                                    std::string& why) {
    const GuardedStep& step = steps_[next_];
    if (!full_.empty()) return judge_check(step, term_.elected_at, answer, why);
    const Verdict verdict = judge(step, term_.elected_at, answer, why);
    const bool is_unknown = answer || answer.error().kind != etcd::Failure::Kind::not_done;
    if (verdict == Verdict::again && is_unknown) may_have_happened_ = true;
    return verdict;
}

void GuardedWriter::try_later() {
    slots_.set(TimerSlots::Slot::writer, slots_.now() + writing_pause, [this] { send(); });
}

// etcd may have rejected the step because of a value of the history, such as one that is larger than it
// takes. The locks are written without it.
bool GuardedWriter::leaves_out_history(const std::string& why) {
    GuardedStep& step = steps_[next_];
    if (step.history.empty() || may_have_happened_) return false;
    base::log(base::LogLevel::warning, "a part of the history is dropped: etcd does not take it",
              {{"why", why}});
    step = without_history(step, left_out_);
    return true;
}

void GuardedWriter::give_up(const std::string& why) {
    if (is_busy()) end({.verdict = Verdict::deposed, .why = why});
}

void GuardedWriter::end(Result result) {
    slots_.clear(TimerSlots::Slot::writer);
    attempt_.reset();
    steps_.clear();
    const Done done = std::exchange(done_, nullptr);
    done(result);
}

}  // namespace holdfast::cluster
