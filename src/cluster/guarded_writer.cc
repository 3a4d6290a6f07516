#include "cluster/guarded_writer.h"

#include "base/check.h"

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
    done_ = std::move(done);
    send();
}

void GuardedWriter::send() {
    attempt_ = std::make_shared<int>(0);
    etcd_.transact(steps_[next_].transaction, timeout_,
                   [this, attempt = std::weak_ptr<int>(attempt_)](
                       const etcd::Answer<etcd::TransactionAnswer>& answer) {
                       if (attempt.expired()) return;
                       look_at_time_();
                       if (!attempt.expired()) on_answer(answer);
                   });
}

void GuardedWriter::on_answer(const etcd::Answer<etcd::TransactionAnswer>& answer) {
    attempt_.reset();
    const GuardedStep& step = steps_[next_];
    Result result;
    result.verdict = judge(step, term_.elected_at, answer, result.why);
    if (result.verdict == Verdict::again) {
        const bool is_unknown = answer || answer.error().kind != etcd::Failure::Kind::not_done;
        may_have_happened_ = may_have_happened_ || is_unknown;
        return slots_.set(TimerSlots::Slot::writer, slots_.now() + writing_pause,
                          [this] { send(); });
    }
    if (result.verdict != Verdict::done) {
        // An earlier attempt may still be done, so it would be wrong to say that nothing is written.
        if (may_have_happened_) result.verdict = Verdict::deposed;
        return end(result);
    }
    term_.counter = step.after;
    may_have_happened_ = false;
    if (++next_ < steps_.size()) return send();
    result.revision = answer->revision;
    end(result);
}

void GuardedWriter::give_up(const std::string& why) {
    if (is_busy()) end({.verdict = Verdict::deposed, .why = why});
}

void GuardedWriter::end(const Result& result) {
    slots_.clear(TimerSlots::Slot::writer);
    attempt_.reset();
    steps_.clear();
    const Done done = std::exchange(done_, nullptr);
    done(result);
}

}  // namespace holdfast::cluster
