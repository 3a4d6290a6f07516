#include "base/log/log.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace holdfast::base {
namespace {

// 2026-01-15T10:30:00.123Z
constexpr std::int64_t moment_ms = 1'768'473'000'123;

std::string line(LogFormat format, std::string_view message,
                 std::initializer_list<LogField> fields = {}) {
    std::string out;
    append_log_line(out, format, LogLevel::info, moment_ms, message, fields);
    return out;
}

TEST(Log, WritesTextForPeople) {
    EXPECT_EQ(
        line(LogFormat::text, "lock granted", {{"lock", "backup"}, {"fence", std::uint64_t{7}}}),
        "2026-01-15T10:30:00.123Z info    lock granted lock=backup fence=7");
}

TEST(Log, WritesJsonForMachines) {
    EXPECT_EQ(
        line(LogFormat::json, "lock granted", {{"lock", "backup"}, {"fence", std::uint64_t{7}}}),
        R"({"time":"2026-01-15T10:30:00.123Z","level":"info","message":"lock granted",)"
        R"("lock":"backup","fence":7})");
    EXPECT_EQ(line(LogFormat::json, "stopped"),
              R"({"time":"2026-01-15T10:30:00.123Z","level":"info","message":"stopped"})");
}

TEST(Log, WritesNumbersOfEveryKind) {
    EXPECT_EQ(line(LogFormat::text, "numbers",
                   {{"least", std::numeric_limits<std::int64_t>::min()},
                    {"most", std::numeric_limits<std::uint64_t>::max()},
                    {"share", 0.25}}),
              "2026-01-15T10:30:00.123Z info    numbers least=-9223372036854775808 "
              "most=18446744073709551615 share=0.25");
}

TEST(Log, NamesEveryLevel) {
    for (const auto& [level, name] : {std::pair{LogLevel::debug, "debug"},
                                      {LogLevel::info, "info"},
                                      {LogLevel::warning, "warning"},
                                      {LogLevel::error, "error"}}) {
        std::string out;
        append_log_line(out, LogFormat::json, level, 0, "m", {});
        EXPECT_EQ(out, std::string(R"({"time":"1970-01-01T00:00:00.000Z","level":")") + name +
                           R"(","message":"m"})");
    }
}

TEST(Log, QuotesWhatCouldBeMistakenForSomethingElse) {
    const auto value = [](std::string_view text) {
        return line(LogFormat::text, "m", {{"v", text}}).substr(37);
    };
    EXPECT_EQ(value("plain-text_1/2:3"), "plain-text_1/2:3");
    EXPECT_EQ(value(""), R"("")");
    EXPECT_EQ(value("two words"), R"("two words")");
    EXPECT_EQ(value("a=b"), R"("a=b")");
    EXPECT_EQ(value("say \"hi\""), R"("say \"hi\"")");
    EXPECT_EQ(value("line\nbreak\r\t"), R"("line\nbreak\r\t")");
    EXPECT_EQ(value("\x1b[31m"), R"("\u001b[31m")");
    EXPECT_EQ(value(std::string_view("\0", 1)), R"("\u0000")");
    EXPECT_EQ(value("Bücher"), "\"Bücher\"");
    EXPECT_EQ(value("\xff"), "\"\xEF\xBF\xBD\"");
}

TEST(Log, EscapesWhatATerminalWouldObey) {
    const std::string_view hostile =
        "a\u009b31m\u0085\u2028\u202e\u2066\u200f\u061c\x7f"
        "ä€𝄞";
    const std::string shown = R"("a\u009b31m\u0085\u2028\u202e\u2066\u200f\u061c\u007f)"
                              "ä€𝄞\"";
    for (const auto format : {LogFormat::text, LogFormat::json}) {
        const std::string out = line(format, "m", {{"v", hostile}});
        EXPECT_NE(out.find(shown), std::string::npos) << out;
    }
}

TEST(Log, NoValueEndsALine) {
    for (const auto format : {LogFormat::text, LogFormat::json}) {
        for (int byte = 0; byte < 256; ++byte) {
            const std::string value{'x', static_cast<char>(byte), 'y'};
            const std::string out = line(format, "m", {{"v", std::string_view(value)}});
            EXPECT_EQ(out.find_first_of("\n\r\v\f"), std::string::npos) << "byte " << byte;
        }
    }
}

TEST(Log, WritesNothingBelowItsLevel) {
    set_up_log(LogFormat::text, LogLevel::warning);
    EXPECT_FALSE(is_logged(LogLevel::info));
    EXPECT_TRUE(is_logged(LogLevel::warning));
    ::testing::internal::CaptureStderr();
    log(LogLevel::info, "not this");
    log(LogLevel::error, "but this", {{"code", std::int64_t{5}}});
    EXPECT_TRUE(flush_log());
    const std::string text = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(text.substr(25), "error   but this code=5\n");

    set_up_log(LogFormat::text, LogLevel::off);
    EXPECT_FALSE(is_logged(LogLevel::error));
}

}  // namespace
}  // namespace holdfast::base
