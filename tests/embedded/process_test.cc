// The engine inside real processes that are stopped for a while, or killed.

#include "../e2e/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <sstream>
#include <thread>

#include "../e2e/durable.h"

namespace holdfast::e2e {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr const char* holder_program = HOLDFAST_HOLDER;

// Its tokens, in the order in which it said them.
std::vector<std::string> tokens_in(const std::string& output) {
    std::vector<std::string> tokens;
    std::istringstream words(output);
    for (std::string word; words >> word;) {
        if (word == "token" && words >> word) tokens.push_back(word);
    }
    return tokens;
}

// On a machine where this process, too, stands still, the lease may end before the signal: the
// outcome is the same.
TEST(EmbeddedProcess, AWriterStoppedForLongerThanItsLeaseIsRefusedAndTold) {
    Process writer({.words = {holder_program, "write", "4000"}});
    ASSERT_NE(writer.wait_for_output("writing"), "");
    writer.signal(SIGSTOP);
    std::this_thread::sleep_for(4500ms);  // longer than the lease: this is what is tried
    writer.signal(SIGCONT);
    EXPECT_EQ(writer.wait(), 0);
    EXPECT_THAT(writer.output(), HasSubstr("write refused: the lock is over"));
    EXPECT_THAT(writer.output(), HasSubstr("handle: lost"));
    EXPECT_THAT(writer.output(), HasSubstr("told: the lock"));
    EXPECT_THAT(writer.output(), HasSubstr("stop: requested"));
}

TEST(EmbeddedProcess, WhatAKilledProcessHeldIsHeldAfterwards) {
    const DataFolder folder;
    Process first({.words = {holder_program, "keep", folder.database(), "first"}});
    const std::string line = first.wait_for_output("token");
    const auto tokens = tokens_in(line);
    ASSERT_EQ(tokens.size(), 1U);
    const Finished meanwhile = run({.words = {holder_program, "check", folder.database(), "x"}});
    EXPECT_THAT(meanwhile.output, HasSubstr("in use")) << "the file has one manager at a time";
    first.signal(SIGKILL);
    first.wait();
    const Finished found = run({.words = {holder_program, "check", folder.database(), tokens[0]}});
    EXPECT_THAT(found.output, HasSubstr("good: inode:7 of first"));
}

// The example of a program with an event loop: its coroutines wait for a lock that another holds.
TEST(EmbeddedProcess, CoroutinesThatWaitAreServedInOrder) {
    const Finished finished = run({.words = {HOLDFAST_EXAMPLE_COROUTINES}});
    EXPECT_EQ(finished.exit_code, 0) << finished.error;
    EXPECT_EQ(finished.output,
              "ann asks\nbob asks\neve asks\nscan gives it back\n"
              "ann has the page\nbob has the page\neve has the page\n"
              "ann was here. bob was here. eve was here. \n");
}

TEST(EmbeddedProcess, TokensGrowWhateverKillsTheProcess) {
    const DataFolder folder;
    std::string last;
    for (int round = 0; round < 4; ++round) {
        Process taker({.words = {holder_program, "take", folder.database(), "1000000"}});
        ASSERT_NE(taker.wait_for_output("token"), "");
        std::this_thread::sleep_for(std::chrono::milliseconds{20 * round});  // anywhere
        taker.signal(SIGKILL);
        taker.wait();
        for (const std::string& token : tokens_in(taker.output())) {
            if (token.size() != 32) continue;  // cut off by the signal
            EXPECT_GT(token, last);
            last = token;
        }
    }
    const Finished end = run({.words = {holder_program, "take", folder.database(), "1"}});
    ASSERT_EQ(tokens_in(end.output).size(), 1U) << end.output;
    EXPECT_GT(tokens_in(end.output)[0], last);
}

}  // namespace
}  // namespace holdfast::e2e
