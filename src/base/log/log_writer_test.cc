#include "base/log/log_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/log/log.h"
#include "base/text/number.h"

namespace holdfast::base {
namespace {

using namespace std::chrono_literals;

// A log whose reader reads only when the test does.
class LogWriterTest : public ::testing::Test {
  protected:
    LogWriterTest() {
        EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0);
        EXPECT_GE(::fcntl(ends_[1], F_SETPIPE_SZ, 4096), 4096);
    }
    ~LogWriterTest() override {
        for (const int end : ends_) ::close(end);
    }

    LogWriter::Options options(std::size_t queue_bytes_max = 10'000) {
        return {.descriptor = ends_[1],
                .queue_bytes_max = queue_bytes_max,
                .append_loss = [](std::string& out, std::uint64_t count) {
                    out += "lost " + std::to_string(count);
                }};
    }

    // Waits for the next line.
    std::string read_line() {
        std::string line;
        for (char byte = 0; ::read(ends_[0], &byte, 1) == 1 && byte != '\n';) line += byte;
        return line;
    }

    std::array<int, 2> ends_{};
};

TEST_F(LogWriterTest, WritesLinesInTheirOrder) {
    LogWriter writer(options());
    for (const char* line : {"one", "", "three"}) writer.write(line);
    EXPECT_EQ(read_line(), "one");
    EXPECT_EQ(read_line(), "");
    EXPECT_EQ(read_line(), "three");
    EXPECT_TRUE(writer.flush(10s));
}

TEST_F(LogWriterTest, TellsOfLostLinesWhereTheyWouldHaveBeen) {
    LogWriter writer(options(10));
    writer.write("longer than the queue");
    writer.write("short");
    EXPECT_EQ(read_line(), "lost 1");
    EXPECT_EQ(read_line(), "short");
}

TEST_F(LogWriterTest, NeverWaitsForTheReaderAndSaysHowManyLinesWereLost) {
    constexpr std::uint64_t count = 1000;
    LogWriter writer(options());
    const std::string rest(95, '.');
    for (std::uint64_t i = 0; i < count; ++i) writer.write(std::to_string(1000 + i) + rest);
    // Nobody has read anything, and all of that has returned.
    EXPECT_FALSE(writer.flush(0ms));
    std::uint64_t next = 1000;
    bool is_told = false;
    while (next < 1000 + count) {
        const std::string line = read_line();
        if (line.starts_with("lost ")) {
            is_told = true;
            next += parse_decimal<std::uint64_t>(line.substr(5)).value();
        } else {
            ASSERT_EQ(line, std::to_string(next) + rest) << "in order, and whole";
            ++next;
        }
    }
    EXPECT_TRUE(is_told);
    EXPECT_TRUE(writer.flush(10s));  // or the queue may still count what has just been read
    writer.write("after that");
    EXPECT_EQ(read_line(), "after that");
}

TEST_F(LogWriterTest, ALineThatNeverFitsIsLostAlone) {
    LogWriter writer(options(100));
    writer.write(std::string(200, 'x'));
    writer.write("short");
    std::string lines = read_line();
    lines += " " + read_line();
    EXPECT_TRUE(lines == "lost 1 short" || lines == "short lost 1") << lines;
}

TEST_F(LogWriterTest, StopsAlthoughTheReaderDoesNotRead) {
    LogWriter writer(options());
    for (int i = 0; i < 100; ++i) writer.write(std::string(99, 'x'));
    writer.stop(10ms);
    writer.write("too late");
    EXPECT_FALSE(writer.flush(0ms));
}

TEST_F(LogWriterTest, WritesWhatIsQueuedBeforeItStops) {
    std::string text;
    std::thread reader([&] {
        for (int i = 0; i < 50; ++i) text += read_line() + "\n";
    });
    std::string expected;
    LogWriter writer(options());
    for (int i = 0; i < 50; ++i) {
        writer.write(std::string(150, 'x'));
        expected += std::string(150, 'x') + "\n";
    }
    writer.stop(10s);
    reader.join();
    EXPECT_EQ(text, expected);
}

TEST_F(LogWriterTest, TakesLinesFromManyThreads) {
    LogWriter writer(options(1'000'000));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 100; ++i) writer.write("line");
        });
    }
    for (int i = 0; i < 400; ++i) ASSERT_EQ(read_line(), "line");
    for (std::thread& thread : threads) thread.join();
}

// Each runs its death in a program of its own, where no thread is lost.
class LogAtExit : public ::testing::Test {
  protected:
    LogAtExit() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(LogAtExit, IsWritten) {
    const auto log_and_exit = [] {
        set_up_log(LogFormat::text, LogLevel::info);
        log(LogLevel::info, "the last line");
        std::exit(0);
    };
    EXPECT_EXIT(log_and_exit(), ::testing::ExitedWithCode(0), "the last line");
}

TEST_F(LogAtExit, IsWrittenBeforeABrokenPromise) {
    const auto log_and_fail = [] {
        set_up_log(LogFormat::text, LogLevel::info);
        log(LogLevel::info, "the last line");
        CHECK(1 + 1 == 3);
    };
    EXPECT_DEATH(log_and_fail(), "the last line\n.*broken promise: 1 \\+ 1 == 3");
}

// A full pipe as standard error must not keep the program from ending.
TEST_F(LogAtExit, ABrokenPromiseEndsTheProgramAlthoughNobodyReads) {
    const auto fail_unread = [] {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_NONBLOCK) != 0) std::exit(1);
        const std::string fill(4096, 'x');
        while (::write(ends[1], fill.data(), fill.size()) > 0) {
        }
        ::fcntl(ends[1], F_SETFL, 0);  // from now on writing waits
        ::dup2(ends[1], STDERR_FILENO);
        CHECK(1 + 1 == 3);
    };
    EXPECT_EXIT(fail_unread(), ::testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace holdfast::base
