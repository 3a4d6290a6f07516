#include "cli/run/run_words.h"

#include <gmock/gmock.h>

#include <sstream>

namespace holdfast::cli {
namespace {

using ::testing::HasSubstr;

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

RunWords split(const std::string& line) {
    std::vector<std::string> words;
    std::istringstream stream(line);
    for (std::string word; stream >> word;) words.push_back(word);
    return split_run_words(
        words, [](const std::string& option) { return option == "--wait" || option == "-w"; },
        [](const std::string& word) { return word == "npm" || word == "rsync"; });
}

// `ours | the command`, or the fault.
std::string seen(const std::string& line) {
    const RunWords words = split(line);
    return words.fault.empty() ? joined(words.ours) + " | " + joined(words.command) : words.fault;
}

TEST(RunWords, OfOneLockNeedNoDashes) {
    EXPECT_EQ(seen("nightly rsync -a x"), "nightly | rsync -a x");
    EXPECT_EQ(seen("nightly --wait 1m rsync --wait"), "nightly --wait 1m | rsync --wait");
    EXPECT_EQ(seen("--try nightly -w 1m rsync"), "--try nightly -w 1m | rsync");
    EXPECT_EQ(seen("nightly unknown -a"), "nightly | unknown -a");
    EXPECT_EQ(seen("nightly"), "nightly | ");
    EXPECT_EQ(seen(""), " | ");
}

TEST(RunWords, HaveTheCommandBehindTheDashes) {
    EXPECT_EQ(seen("nightly -- rsync -a"), "nightly | rsync -a");
    EXPECT_EQ(seen("nightly -- npm run build -- --watch"), "nightly | npm run build -- --watch");
    EXPECT_EQ(seen("db-a db-b -- migrate -v"), "db-a db-b | migrate -v");
    EXPECT_EQ(seen("db-a --wait 1m db-b --try -- migrate"), "db-a --wait 1m db-b --try | migrate");
    EXPECT_EQ(seen("a b c --"), "a b c | ");
    EXPECT_EQ(seen("-- rsync"), " | rsync");
    EXPECT_EQ(seen("a named:npm -- rsync"), "a named:npm | rsync");
}

TEST(RunWords, WithTwoMeaningsAreRefused) {
    EXPECT_EQ(
        seen("x npm run build -- --watch"),
        "it is not clear where the command begins. If npm is the command, write -- before it: "
        "holdfast run x -- npm run build -- --watch. If it is a lock, write named:npm");
    EXPECT_THAT(seen("x --wait 1m npm -- y"), HasSubstr("holdfast run x --wait 1m -- npm -- y"));
}

TEST(RunWords, KnowPrograms) {
    EXPECT_TRUE(is_program("sh"));
    EXPECT_TRUE(is_program("/bin/sh"));
    EXPECT_FALSE(is_program("no-such-program-anywhere"));
    EXPECT_FALSE(is_program("/tmp"));
    EXPECT_FALSE(is_program("/etc/passwd"));
}

}  // namespace
}  // namespace holdfast::cli
