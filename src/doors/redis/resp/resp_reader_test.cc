#include "doors/redis/resp/resp_reader.h"

#include <gmock/gmock.h>

#include <string>

namespace holdfast::doors::redis {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using State = RespFrame::State;

// The words of a whole command; a text that says what it is otherwise.
std::vector<std::string> words(std::string_view input) {
    RespCommand command;
    const RespFrame frame = read_command(input, command);
    switch (frame.state) {
        case State::incomplete: return {"(incomplete)"};
        case State::broken: return {frame.fault};
        case State::foreign: return {"(foreign)"};
        case State::whole: break;
    }
    EXPECT_LE(frame.size, input.size());
    return {command.words.begin(), command.words.end()};
}

TEST(RespReader, ReadsArraysOfAnyBytes) {
    EXPECT_THAT(words("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\na\r\nb\r\n"),
                ElementsAre("SET", "k", "a\r\nb"));
    EXPECT_THAT(words("*1\r\n$0\r\n\r\n"), ElementsAre(""));
    EXPECT_THAT(words("*0\r\n"), IsEmpty());
    EXPECT_THAT(words("*-1\r\n"), IsEmpty());
}

TEST(RespReader, ReadsLinesOfWords) {
    EXPECT_THAT(words("SET  k v\tNX\r\n"), ElementsAre("SET", "k", "v", "NX"));
    EXPECT_THAT(words("PING\n"), ElementsAre("PING"));
    EXPECT_THAT(words("\r\n"), IsEmpty());
    EXPECT_THAT(words("SET k \"a b\\n\\x41\\\"\" 'it\\'s'\r\n"),
                ElementsAre("SET", "k", "a b\nA\"", "it's"));
    EXPECT_THAT(words("SET k \"\\xzz\"\n"), ElementsAre("SET", "k", "xzz"));
}

TEST(RespReader, WaitsForTheRestWhereverItIsCut) {
    for (const std::string whole : {"*2\r\n$3\r\nGET\r\n$5\r\nhello\r\n", "GET 'a b'\r\n"}) {
        for (std::size_t cut = 0; cut < whole.size(); ++cut) {
            EXPECT_THAT(words(whole.substr(0, cut)), ElementsAre("(incomplete)")) << cut;
        }
        EXPECT_EQ(words(whole).size(), 2U);
        EXPECT_EQ(words(whole + whole), words(whole)) << "the next command is left alone";
    }
}

TEST(RespReader, ReadsALengthInAnyForm) {
    EXPECT_THAT(words("*01\r\n$00000000003\r\nGET\r\n"), ElementsAre("GET"));
    EXPECT_THAT(words("*1\n$3\nGET\r\n"), ElementsAre("GET"));
    const std::string word(word_bytes_max, 'w');
    EXPECT_THAT(words("*1\r\n$" + std::to_string(word.size()) + "\r\n" + word + "\r\n"),
                ElementsAre(word));
    EXPECT_THAT(words("*1\r\n$3\r"), ElementsAre("(incomplete)"));
    for (const std::string line :
         {"$\r\n", "$+3\r\n", "$3 \r\n", "$3\rx\n", "$x\r\n", "$0x3\r\n"}) {
        EXPECT_THAT(words("*1\r\n" + line + "GET\r\n").at(0), HasSubstr("invalid bulk length"))
            << line;
    }
}

TEST(RespReader, SaysWhatIsBroken) {
    const auto fault = [](std::string_view input) { return words(input).at(0); };
    EXPECT_EQ(fault("*x\r\n"), "ERR Protocol error: invalid multibulk length");
    EXPECT_EQ(fault("*1000000\r\n"), "ERR Protocol error: invalid multibulk length");
    EXPECT_EQ(fault("*1\r\n:1\r\n"), "ERR Protocol error: expected '$', got ':'");
    EXPECT_EQ(fault("*1\r\n$-1\r\n"), "ERR Protocol error: invalid bulk length");
    EXPECT_EQ(fault("*1\r\n$99999999\r\n"), "ERR Protocol error: invalid bulk length");
    EXPECT_EQ(fault("*1\r\n$1\r\nabc"), "ERR Protocol error: invalid bulk length");
    EXPECT_EQ(fault("GET 'a\r\n"), "ERR Protocol error: unbalanced quotes in request");
    EXPECT_EQ(fault("GET 'a'b\r\n"), "ERR Protocol error: unbalanced quotes in request");
    EXPECT_THAT(fault("*" + std::string(100, '1')), HasSubstr("invalid multibulk length"));
    EXPECT_THAT(fault(std::string(line_bytes_max, 'x')), HasSubstr("too big inline request"));
}

TEST(RespReader, KnowsAnHttpClient) {
    EXPECT_THAT(words("POST / HTTP/1.1\r\n"), ElementsAre("(foreign)"));
    EXPECT_THAT(words("GET / HTTP/1.1\r\n"), ElementsAre("(foreign)"));
    EXPECT_THAT(words("Host: localhost\r\n"), ElementsAre("(foreign)"));
    EXPECT_THAT(words("*1\r\n$4\r\nPOST\r\n"), ElementsAre("POST")) << "no browser sends arrays";
}

}  // namespace
}  // namespace holdfast::doors::redis
