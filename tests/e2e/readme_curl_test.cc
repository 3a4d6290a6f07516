// What the README tells people to type, typed: its curl commands.

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "readme.h"
#include "server_process.h"

namespace holdfast::e2e {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string readme() {
    std::ostringstream text;
    text << std::ifstream(HOLDFAST_SOURCE_DIR "/README.md").rdbuf();
    return text.str();
}

TEST(Readme, BeginsWithTheTwoCommands) {
    const auto blocks = code_blocks(readme());
    ASSERT_GE(blocks.size(), 2U);
    EXPECT_THAT(blocks[0], ElementsAre("make run"));
    EXPECT_THAT(blocks[1], ElementsAre("make test"));
}

TEST(Readme, ItsCurlCommandsWork) {
    const ServerProcess server;
    const auto commands = curl_commands(readme(), net::parse_endpoint(server.address)->port());
    EXPECT_FALSE(commands.empty());
    for (const std::string& command : commands) {
        const Finished finished =
            run({.words = {"sh", "-c", command}, .environment = {{"no_proxy", "127.0.0.1"}}});
        EXPECT_EQ(finished.exit_code, 0) << command << "\n" << finished.error;
        EXPECT_NE(finished.output, "") << command;
    }
}

TEST(ReadmeText, CommandsAreFoundInItsCodeBlocks) {
    const std::string text =
        "# Title\nmake nothing\n```sh\nmake run   # builds\n```\n"
        "```sh\n# a comment\n\nmake test\n```\n```json\n{}\n```\n"
        "curl http://127.0.0.1:8080/not-in-a-block\n"
        "```sh\ncurl -X POST \\\n  'http://127.0.0.1:8080/lock?client=a'\n"
        "curl http://example.com/\ncurl http://127.0.0.1:8080/lock\n```\n";
    EXPECT_THAT(
        code_blocks(text),
        ElementsAre(ElementsAre("make run"), ElementsAre("make test"), ElementsAre("{}"),
                    ElementsAre("curl -X POST \\", "  'http://127.0.0.1:8080/lock?client=a'",
                                "curl http://example.com/", "curl http://127.0.0.1:8080/lock")));
    EXPECT_THAT(curl_commands(text, 5),
                ElementsAre("curl -X POST   'http://127.0.0.1:5/lock?client=a'",
                            "curl http://127.0.0.1:5/lock"));
    EXPECT_THAT(code_blocks("no code"), IsEmpty());
}

}  // namespace
}  // namespace holdfast::e2e
