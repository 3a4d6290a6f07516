// Plays every timeline under timelines/ and compares what happens with what is written there.
//
// With HOLDFAST_REWRITE=1 in the environment the files are rewritten with what happened instead:
// read the difference before you keep it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "scenarios/script.h"
#include "scenarios/stage.h"

namespace holdfast::scenarios {
namespace {

using std::filesystem::path;

std::vector<path> timelines() {
    std::vector<path> files;
    for (const auto& entry : std::filesystem::directory_iterator(HOLDFAST_TIMELINES)) {
        if (entry.path().extension() == ".txt") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

std::string read(const path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// The lines of a result, each with a mark before it.
std::string marked(const Result& result, std::string_view mark) {
    auto text = result.answer.empty() ? "" : fmt::format("  {} -> {}\n", mark, result.answer);
    for (const auto& effect : result.effects) text += fmt::format("  {} {}\n", mark, effect);
    return text;
}

class Scenario : public testing::TestWithParam<path> {};

TEST_P(Scenario, HappensAsWritten) {
    const auto text = read(GetParam());
    auto script = parse_script(text);
    ASSERT_TRUE(script) << GetParam().filename() << ": " << script.error().message;
    Stage stage;
    std::string differences;
    for (Line& line : *script) {
        if (!line.step) continue;
        const auto happened = stage.play(*line.step);
        ASSERT_TRUE(happened) << fmt::format("{}:{}: {}: {}", GetParam().filename().string(),
                                             line.number, line.step->command,
                                             happened.error().message);
        if (*happened == line.step->expected) continue;
        differences += fmt::format("{}:{}: at {} {}\n{}{}", GetParam().filename().string(),
                                   line.number, format_time(line.step->at), line.step->command,
                                   marked(line.step->expected, "-"), marked(*happened, "+"));
        line.step->expected = *happened;
    }
    if (std::getenv("HOLDFAST_REWRITE") != nullptr) {
        std::ofstream(GetParam(), std::ios::binary) << format_script(*script);
    } else {
        EXPECT_TRUE(differences.empty()) << "- is written, + happened\n" << differences;
    }
    const auto left = stage.empty();
    EXPECT_EQ(left.locks + left.leases + left.waiters + left.sessions, 0U);
}

INSTANTIATE_TEST_SUITE_P(Timeline, Scenario, testing::ValuesIn(timelines()),
                         [](const auto& scenario) { return scenario.param.stem().string(); });

TEST(Script, IsReadAndWrittenTheSame) {
    const std::string text =
        "# a comment\n"
        "\n"
        "at 0s   lock job by a         -> granted #1 until 30s\n"
        "at 30s\n"
        "        => 30s expired job a #1\n"
        "at 1500s show job             -> free\n";
    const auto script = parse_script(text);
    ASSERT_TRUE(script) << script.error().message;
    const auto again = parse_script(format_script(*script));
    ASSERT_TRUE(again);
    EXPECT_EQ(format_script(*again), format_script(*script));
    ASSERT_EQ(script->size(), 5U);
    EXPECT_EQ((*script)[3].step->expected.effects,
              (std::vector<std::string>{"=> 30s expired job a #1"}));
    EXPECT_EQ((*script)[4].step->expected.answer, "free");
}

TEST(Script, NamesTheLineThatIsNoStep) {
    for (const auto* text : {"# fine\nacquire job by a", "# fine\nat soon lock job by a",
                             "# fine\n=> 1s expired job a #1", "# fine\nat -1s show job"}) {
        const auto script = parse_script(text);
        ASSERT_FALSE(script) << text;
        EXPECT_EQ(script.error().message.substr(0, 6), "line 2") << text;
    }
}

TEST(Stage, RefusesWhatItDoesNotUnderstand) {
    for (const auto* command :
         {"grab job by a", "lock job", "lock job by", "lock job by a ttl", "lock job by a ttl soon",
          "lock job by a permits some", "lock inode:red by a", "lock", "renew job by a",
          "renew job with 1", "cancel job by a", "disconnect a", "lock job by a politely"}) {
        EXPECT_FALSE(Stage().play({.at = {}, .command = command, .expected = {}})) << command;
    }
}

}  // namespace
}  // namespace holdfast::scenarios
