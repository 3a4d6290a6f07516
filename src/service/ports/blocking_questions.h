#pragma once

// BlockingQuestions: lets threads that may wait, such as those of a disk, ask the service, which lives
// on the thread of its executor.
//
//     const auto objection = questions.ask([&](const auto& question) {
//         // On the thread of the executor, now or in a later turn of it:
//         question->finish(...);
//     });
//
// The threads wait for the executor, and the executor never waits for them. When the executor has
// stopped, close() answers the questions that are still open.
//
// Thread safety: any thread but the executor's; a Question may be finished on any thread.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "service/ports/executor.h"

namespace holdfast::service {

template <class Answer>
class BlockingQuestions {
  public:
    // One answer that a thread waits for.
    class Question {
      public:
        // The first answer counts.
        void finish(Answer answer) {
            const std::lock_guard lock(mutex_);
            if (answer_) return;
            answer_.emplace(std::move(answer));
            changed_.notify_one();
        }

      private:
        friend class BlockingQuestions;
        Answer wait() {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return answer_.has_value(); });
            return std::move(*answer_);
        }

        std::mutex mutex_;
        std::condition_variable changed_;
        std::optional<Answer> answer_;
    };
    using QuestionPtr = std::shared_ptr<Question>;

    // The executor outlives this. `when_closed` is the answer to questions after close().
    BlockingQuestions(Executor& executor, Answer when_closed)
        : executor_(executor), when_closed_(std::move(when_closed)) {}

    // Runs `work` in a turn of the executor and waits until the question is finished.
    [[nodiscard]] Answer ask(std::function<void(const QuestionPtr&)> work) {
        const auto question = std::make_shared<Question>();
        {
            const std::lock_guard lock(mutex_);
            if (is_closed_) return when_closed_;
            open_.insert(question);
        }
        executor_.post([work = std::move(work), question] { work(question); });
        Answer answer = question->wait();
        const std::lock_guard lock(mutex_);
        open_.erase(question);
        return answer;
    }

    // REQUIRES: the executor's thread has stopped.
    void close() {
        const std::lock_guard lock(mutex_);
        is_closed_ = true;
        for (const QuestionPtr& question : open_) question->finish(when_closed_);
    }

  private:
    Executor& executor_;
    const Answer when_closed_;
    std::mutex mutex_;
    bool is_closed_ = false;
    std::set<QuestionPtr> open_;
};

}  // namespace holdfast::service
