#include "service/ports/blocking_questions.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "service/ports/test_executor.h"

namespace holdfast::service {
namespace {

using Questions = BlockingQuestions<std::string>;

class BlockingQuestionsTest : public ::testing::Test {
  protected:
    // Runs one task of the executor, which may still be on its way from another thread.
    void run_one() {
        while (!executor_.run_one()) std::this_thread::yield();
    }

    testing::ManualExecutor executor_;
    Questions questions_{executor_, "closed"};
};

TEST_F(BlockingQuestionsTest, AreAnsweredOnTheThreadOfTheExecutor) {
    std::string answer;
    const auto executor_thread = std::this_thread::get_id();
    std::thread asker([&] {
        answer = questions_.ask([&](const Questions::QuestionPtr& question) {
            EXPECT_EQ(std::this_thread::get_id(), executor_thread);
            question->finish("first");
            question->finish("second");
        });
    });
    run_one();
    asker.join();
    EXPECT_EQ(answer, "first");
}

TEST_F(BlockingQuestionsTest, MayBeAnsweredInALaterTurn) {
    std::string answer;
    Questions::QuestionPtr kept;
    std::thread asker([&] {
        answer = questions_.ask([&](const Questions::QuestionPtr& question) { kept = question; });
    });
    run_one();
    kept->finish("later");
    asker.join();
    EXPECT_EQ(answer, "later");
}

TEST_F(BlockingQuestionsTest, AreAnsweredByTheEnd) {
    std::string answer;
    bool is_asked = false;
    std::thread asker(
        [&] { answer = questions_.ask([&](const Questions::QuestionPtr&) { is_asked = true; }); });
    run_one();
    questions_.close();
    asker.join();
    EXPECT_EQ(answer, "closed");
    EXPECT_TRUE(is_asked);
    EXPECT_EQ(questions_.ask([](const Questions::QuestionPtr&) { FAIL(); }), "closed");
    EXPECT_FALSE(executor_.run_one());
}

}  // namespace
}  // namespace holdfast::service
