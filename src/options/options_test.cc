#include "options/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace holdfast::options {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

// A program with one command that has an option of every kind.
class OptionsTest : public ::testing::Test {
  protected:
    OptionsTest() {
        serve.add_option("--name", name, "its name").takes("NAME").variable("OPTIONS_TEST_NAME");
        serve.add_option("--count", count, "how many").above_zero().shows_default();
        serve.add_option("--part", parts, "its parts").repeatable(',');
        serve.add_duration("--wait", wait, "how long");
        serve.add_choice("--colour", colour, {{"red", Colour::red}, {"blue", Colour::blue}},
                         "which one", true);
        serve.add_flag("--loud", is_loud, "say more");
        serve.add_option("--config", "a file of options").existing_file().not_in_files();
        serve.on_parsed([this] {
            const Option path = serve.option("--config");
            if (path.is_given()) serve.read_file(path.value());
        });
    }

    std::string write_file(const std::string& text) {
        const std::string path = ::testing::TempDir() + "/options_test.conf";
        std::ofstream(path) << text;
        return path;
    }

    enum class Colour { red, blue };

    Program program{"test", "a program"};
    Command serve = program.root().add_command("serve", "serves");
    std::string name = "nobody";
    std::uint64_t count = 3;
    std::vector<std::string> parts;
    std::chrono::milliseconds wait{1500};
    Colour colour = Colour::red;
    bool is_loud = false;
};

TEST_F(OptionsTest, WriteTheirValues) {
    ASSERT_FALSE(program.parse({"serve", "--name", "x", "--count", "7", "--part", "a,b", "--part",
                                "c", "--wait", "2m", "--colour", "blue", "--loud"}));
    EXPECT_TRUE(serve.is_called());
    EXPECT_EQ(name, "x");
    EXPECT_EQ(count, 7U);
    EXPECT_THAT(parts, ElementsAre("a", "b", "c"));
    EXPECT_EQ(wait, 2min);
    EXPECT_EQ(colour, Colour::blue);
    EXPECT_TRUE(is_loud);
}

TEST_F(OptionsTest, FaultsAreNamed) {
    const auto message = [&](std::vector<std::string> words) {
        words.insert(words.begin(), "serve");
        const auto stop = program.parse(words);
        return stop ? stop->message : "none";
    };
    EXPECT_THAT(message({"--count", "0"}), HasSubstr("--count"));
    EXPECT_THAT(message({"--wait", "-2s"}), HasSubstr("--wait"));
    EXPECT_THAT(message({"--wait", "soon"}), HasSubstr("--wait"));
    EXPECT_THAT(message({"--colour", "green"}), HasSubstr("green not in {blue,red}"));
    EXPECT_THAT(message({"--config", "/nowhere"}), HasSubstr("--config"));
    EXPECT_THAT(message({"--config", write_file("nmae = x\n")}), HasSubstr("no option nmae"));
    EXPECT_THAT(message({"--nmae", "x"}), HasSubstr("--nmae"));
}

TEST_F(OptionsTest, HelpIsOutputAndNoFault) {
    const auto stop = program.parse({"serve", "--help"});
    ASSERT_TRUE(stop);
    EXPECT_EQ(stop->exit_code, 0);
    EXPECT_THAT(stop->output, HasSubstr("--wait DURATION=1.5s"));
    EXPECT_EQ(stop->errors, "");
}

TEST_F(OptionsTest, CommandLineBeatsTheEnvironmentAndThatBeatsAFile) {
    const std::string path = write_file("name = file\nloud = true\ncount = 9\n");
    ::setenv("OPTIONS_TEST_NAME", "variable", 1);
    const auto stop = program.parse({"serve", "--config", path, "--count", "5"});
    ::unsetenv("OPTIONS_TEST_NAME");
    ASSERT_FALSE(stop) << stop->message;
    EXPECT_EQ(name, "variable");
    EXPECT_EQ(count, 5U);
    EXPECT_TRUE(is_loud);
}

TEST_F(OptionsTest, SettingsTellWhereValuesAreFrom) {
    ASSERT_FALSE(program.parse({"serve", "--count", "5"}));
    const std::vector<Setting> settings = serve.settings();
    ASSERT_EQ(settings.size(), 6U);  // all but --config
    EXPECT_EQ(settings[0].name, "--name");
    EXPECT_FALSE(settings[0].is_given);
    EXPECT_EQ(settings[1].value, "5");
    EXPECT_TRUE(settings[1].is_on_command_line);
    EXPECT_EQ(settings[3].value, "1.5s");
    EXPECT_EQ(settings[5].value, "false");
}

TEST(FlagValue, IsAWordOrANumber) {
    for (const char* text : {"true", "false", "on", "off", "yes", "no", "1", "0"}) {
        EXPECT_TRUE(is_flag_value(text)) << text;
    }
    EXPECT_FALSE(is_flag_value("perhaps"));
}

}  // namespace
}  // namespace holdfast::options
