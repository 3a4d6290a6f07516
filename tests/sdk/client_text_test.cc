// docs/client.md shows examples/client.cc as it is, and that does what it says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "../e2e/server_process.h"

namespace holdfast::e2e {
namespace {

std::string read(const std::string& path) {
    std::ifstream file(std::string(HOLDFAST_SOURCE_DIR "/") + path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(ClientText, ShowsTheProgramThatIsCompiled) {
    const std::string text = read("docs/client.md");
    const std::string fence = "```";
    const std::size_t begin = text.find(fence + "cpp\n");
    ASSERT_NE(begin, std::string::npos);
    const std::size_t code = begin + fence.size() + 4;
    const std::size_t end = text.find(fence, code);
    EXPECT_EQ(text.substr(code, end - code), read("examples/client.cc"));
    EXPECT_EQ(text.find(fence + "cpp\n", end), std::string::npos)
        << "a second program that nobody compiles";
}

TEST(ClientText, ShowsAProgramThatWorks) {
    const ServerProcess server;
    const Finished done = run({.words = {HOLDFAST_EXAMPLE_CLIENT},
                               .environment = {{"HOLDFAST_SERVER", "http://" + server.address},
                                               {"HOLDFAST_TOKEN_FILE", ""},
                                               {"HOLDFAST_CA_FILE", ""}}});
    EXPECT_EQ(done.exit_code, 0) << done.error;
    EXPECT_EQ(done.error, "");
    EXPECT_THAT(done.output, ::testing::EndsWith("part 3 is stored\ndone, 3 parts\n"));
}

}  // namespace
}  // namespace holdfast::e2e
