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
        serve_.add_option("--name", name_, "its name").takes("NAME").variable("OPTIONS_TEST_NAME");
        serve_.add_option("--count", count_, "how many").above_zero().shows_default();
        serve_.add_option("--part", parts_, "its parts").repeatable(',');
        serve_.add_duration("--wait", wait_, "how long");
        serve_.add_choice("--colour", colour_, {{"red", Colour::red}, {"blue", Colour::blue}},
                          "which one", true);
        serve_.add_flag("--loud", is_loud_, "say more");
        serve_.add_option("--config", "a file of options").existing_file().not_in_files();
        serve_.on_parsed([this] {
            const Option path = serve_.option("--config");
            if (path.is_given()) serve_.read_file(path.value());
        });
    }

    std::string write_file(const std::string& text) {
        std::string path = ::testing::TempDir() + "/options_test.conf";
        std::ofstream(path) << text;
        return path;
    }

    enum class Colour { red, blue };

    Program program_{"test", "a program"};
    Command serve_ = program_.root().add_command("serve", "serves");
    std::string name_ = "nobody";
    std::uint64_t count_ = 3;
    std::vector<std::string> parts_;
    std::chrono::milliseconds wait_{1500};
    Colour colour_ = Colour::red;
    bool is_loud_ = false;
};

TEST_F(OptionsTest, WriteTheirValues) {
    ASSERT_FALSE(program_.parse({"serve", "--name", "x", "--count", "7", "--part", "a,b", "--part",
                                 "c", "--wait", "2m", "--colour", "blue", "--loud"}));
    EXPECT_TRUE(serve_.is_called());
    EXPECT_EQ(name_, "x");
    EXPECT_EQ(count_, 7U);
    EXPECT_THAT(parts_, ElementsAre("a", "b", "c"));
    EXPECT_EQ(wait_, 2min);
    EXPECT_EQ(colour_, Colour::blue);
    EXPECT_TRUE(is_loud_);
}

TEST_F(OptionsTest, FaultsAreNamed) {
    const auto message = [&](std::vector<std::string> words) {
        words.insert(words.begin(), "serve");
        const auto stop = program_.parse(words);
        return stop ? stop->message : "none";
    };
    EXPECT_THAT(message({"--count", "0"}), HasSubstr("--count"));
    EXPECT_THAT(message({"--wait", "-2s"}), HasSubstr("--wait"));
    EXPECT_THAT(message({"--wait", "soon"}), HasSubstr("--wait"));
    EXPECT_THAT(message({"--colour", "green"}), HasSubstr("green is none of blue, red"));
    EXPECT_THAT(message({"--config", "/nowhere"}), HasSubstr("--config"));
    EXPECT_THAT(message({"--config", write_file("nmae = x\n")}), HasSubstr("no option nmae"));
    EXPECT_THAT(message({"--nmae", "x"}), HasSubstr("--nmae"));
}

TEST_F(OptionsTest, HelpIsOutputAndNoFault) {
    const auto stop = program_.parse({"serve", "--help"});
    ASSERT_TRUE(stop);
    EXPECT_EQ(stop->exit_code, 0);
    EXPECT_THAT(stop->output, HasSubstr("--wait DURATION=1.5s"));
    EXPECT_EQ(stop->errors, "");
}

TEST_F(OptionsTest, CommandLineBeatsTheEnvironmentAndThatBeatsAFile) {
    const std::string path = write_file("name = file\nloud = true\ncount = 9\n");
    ::setenv("OPTIONS_TEST_NAME", "variable", 1);
    const auto stop = program_.parse({"serve", "--config", path, "--count", "5"});
    ::unsetenv("OPTIONS_TEST_NAME");
    ASSERT_FALSE(stop) << stop->message;
    EXPECT_EQ(name_, "variable");
    EXPECT_EQ(count_, 5U);
    EXPECT_TRUE(is_loud_);
}

TEST_F(OptionsTest, VariablesFollowFromTheNames) {
    std::string value;
    serve_.add_option("--part-size", value, "of one part");
    serve_.name_variables("OPTIONS_TEST_");
    ::setenv("OPTIONS_TEST_PART_SIZE", "7", 1);
    ::setenv("OPTIONS_TEST_LOUD", "true", 1);
    const auto stop = program_.parse({"serve"});
    ::unsetenv("OPTIONS_TEST_PART_SIZE");
    ::unsetenv("OPTIONS_TEST_LOUD");
    ASSERT_FALSE(stop) << stop->message;
    EXPECT_EQ(value, "7");
    EXPECT_TRUE(is_loud_);
}

TEST_F(OptionsTest, SettingsTellWhereValuesAreFrom) {
    ASSERT_FALSE(program_.parse({"serve", "--count", "5"}));
    const std::vector<Setting> settings = serve_.settings();
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
    for (const char* text : {"true", "1", "on", "yes", "2"})
        EXPECT_TRUE(to_flag_value(text)) << text;
    for (const char* text : {"false", "0", "off", "no"}) EXPECT_FALSE(to_flag_value(text)) << text;
}

}  // namespace
}  // namespace holdfast::options
