#include "doors/redis/script/parser.h"

#include <gmock/gmock.h>

#include <string>

#include "doors/redis/script/lexer.h"
#include "doors/redis/script/test_repeat.h"

namespace holdfast::doors::redis {
namespace {

using ::testing::HasSubstr;

std::string fault(std::string_view text) {
    const auto script = parse_script(text);
    return script ? "" : script.error().message;
}

TEST(ScriptParser, UnderstandsWhatLockScriptsAreMadeOf) {
    for (const char* text : {
             "return 1",
             "if redis.call('get', KEYS[1]) == ARGV[1] then return 1 else return 0 end",
             "return redis.call('del', KEYS[1])",
             "local a, b = 1 return a",
             "for i, key in ipairs(KEYS) do redis.call('del', key) end return #KEYS;",
             "for i = 1, #KEYS, 2 do if i > 3 then break end end",
             "-- a comment\nlocal function f(x) return x end --[[ another\none ]] return f(1)",
             "local t = {} t[#t + 1] = ARGV[1] table.insert(t, 'x') return {unpack(t)}",
             "do local x = 1 end",
             "return redis.error_reply \"NO\"",
             "local r = redis.pcall('get', KEYS[1]) if r.err then return r.err end",
             "local rcall = redis.call return rcall('get', KEYS[1])",
             "local call, try = redis.call, redis.pcall if true then call('del', 'x') end",
             "local tonumber = tonumber local insert = table.insert return tonumber('1')",
             "local call = redis.call local again = call return again 'get'",
             "local call = redis.call local function f(k) return call('get', k) end return f('x')",
             "return KEYS[1] .. ':' .. 1 + 2 == 'x'",
             "",
         }) {
        EXPECT_EQ(fault(text), "") << text;
    }
}

TEST(ScriptParser, SaysWhatItDoesNotUnderstandAndWhere) {
    EXPECT_EQ(fault("local x = 1\nwhile true do end"), "line 2: 'while' is not understood");
    EXPECT_EQ(fault("repeat until true"), "line 1: 'repeat' is not understood");
    EXPECT_EQ(fault("return ..."), "line 1: '...' is not understood");
    EXPECT_THAT(fault("return 1..2"), HasSubstr("form of number")) << "as in Lua";
    EXPECT_THAT(fault("return 'a' .. "), HasSubstr("ends too early"));
    EXPECT_EQ(fault("return os.time()"), "line 1: 'os.time' is not understood");
    EXPECT_EQ(fault("return loadstring('x')"), "line 1: 'loadstring' is not understood");
    EXPECT_EQ(fault("return _G"), "line 1: '_G' is not understood");
    EXPECT_THAT(fault("x = 1"), HasSubstr("'x' is not declared"));
    EXPECT_THAT(fault("for k in pairs(KEYS) do end"), HasSubstr("ipairs"));
    EXPECT_THAT(fault("return {a = 1}"), HasSubstr("named items"));
    EXPECT_THAT(fault("return 1 local x = 2"), HasSubstr("nothing can follow"));
    EXPECT_THAT(fault("if true then"), HasSubstr("'end' was expected"));
    EXPECT_THAT(fault("return ("), HasSubstr("ends too early"));
    EXPECT_THAT(fault("return 'a"), HasSubstr("does not end"));
    EXPECT_THAT(fault("return 0x10"), HasSubstr("form of number"));
    EXPECT_THAT(fault("break"), HasSubstr("outside of a loop"));
    EXPECT_THAT(fault("return f"), HasSubstr("'f' is not understood"));
    EXPECT_THAT(fault("local function f() end return f"), HasSubstr("'(' was expected"))
        << "a function is no value";
    EXPECT_THAT(fault("if true then local function f() end end"), HasSubstr("function within"));
    EXPECT_THAT(fault("return redis.call()"), HasSubstr("needs more arguments"));
    EXPECT_THAT(fault("@"), HasSubstr("the character '@'"));
    // Another name for a function is no value either, and ends with its block.
    EXPECT_THAT(fault("local call = redis.call call = 1"), HasSubstr("'(' was expected"));
    EXPECT_THAT(fault("local call = redis.call return call"), HasSubstr("'(' was expected"));
    EXPECT_THAT(fault("do local call = redis.call end return call('get', 'x')"),
                HasSubstr("'call' is not understood"));
    EXPECT_THAT(fault("local a, b = redis.call, 1"), HasSubstr("one for each of its names"));
    EXPECT_THAT(fault("local a, b = redis.call"), HasSubstr("one for each of its names"));
    EXPECT_THAT(fault("local a = redis.call, redis.pcall"), HasSubstr("one for each"));
    EXPECT_THAT(fault("local a = os.time"), HasSubstr("'os.time' is not understood"));
}

TEST(ScriptParser, HasLimits) {
    EXPECT_THAT(fault(std::string(script_bytes_max + 1, ' ')), HasSubstr("bytes"));
    std::string deep = "return ", nested;
    for (int depth = 0; depth < 500; ++depth) deep += "(";
    EXPECT_THAT(fault(deep), HasSubstr("nested"));
    deep = "return ";
    for (int depth = 0; depth < 500; ++depth) deep += "not ";
    EXPECT_THAT(fault(deep + "1"), HasSubstr("nested"));
    for (int depth = 0; depth < 500; ++depth) nested += "do ";
    EXPECT_THAT(fault(nested), HasSubstr("nested"));
    deep = "return KEYS";
    for (int depth = 0; depth < 500; ++depth) deep += "[1]";
    EXPECT_THAT(fault(deep), HasSubstr("more than 64 levels"));
}

// Operators that follow one another make a tree as high as there are operators.
TEST(ScriptParser, CountsTheHeightOfATreeWhileItIsBuilt) {
    for (const char* more : {"+1", "-1", "*2", "/2", " and 1", " or 1", " == 1", " < 1"}) {
        EXPECT_EQ(fault("return 1" + repeat(more, script_height_max - 1)), "") << more;
        EXPECT_EQ(fault("return 1" + repeat(more, script_height_max)),
                  "line 1: an expression has more than 64 levels")
            << more;
    }
    const std::string half = repeat("+1", script_height_max / 2);
    EXPECT_THAT(fault("return {{(1" + half + ")" + half + "}}"), HasSubstr("levels"));
    EXPECT_EQ(fault("if 1 then " + repeat("elseif 1 then ", 500) + "end"), "")
        << "one choice of many conditions is not high";
    EXPECT_THAT(fault(repeat("if 1 then else ", 50) + repeat("end ", 50)), HasSubstr("nested"));
}

TEST(ScriptParser, BoundsTheTree) {
    EXPECT_THAT(fault("return {" + repeat("1,", 2100) + "}"),
                HasSubstr("more than 4096 words and signs"));
    std::string names = "local a0";
    for (int name = 1; name < 200; ++name) names += ",a" + std::to_string(name);
    EXPECT_EQ(fault(names), "");
    EXPECT_EQ(fault("do " + names + " end do " + names + " end"), "") << "not at one place";
    EXPECT_THAT(fault(names + " local b"), HasSubstr("more than 200 local variables"));
    for (const std::string& largest : std::initializer_list<std::string>{
             "return {" + repeat("1,", 2040) + "}", repeat("do end ", 2048),
             repeat("tostring(1)", 1024), "local a " + repeat("a=1 ", 1360),
             "return 1" + repeat(",1+1", 1000)}) {
        const auto script = parse_script(largest);
        ASSERT_TRUE(script) << script.error().message;
        EXPECT_LT(script->bytes, std::size_t{480} * 1024) << "it fits into a MULTI: " << largest;
    }
}

// A script that came in part must be refused or understood, never crash the server.
TEST(ScriptParser, BearsAScriptThatIsCutAnywhere) {
    const std::string text =
        "local function f(a) for i, k in ipairs(a) do if k == 'x' then return {1, k} end end end\n"
        "local t = {} for i = 1, 2 do t[i] = #ARGV[1] - 1 end -- end\nreturn f(KEYS)[1]";
    ASSERT_EQ(fault(text), "");
    for (std::size_t cut = 0; cut < text.size(); ++cut) {
        const auto script = parse_script(text.substr(0, cut));
        if (!script) {
            EXPECT_THAT(script.error().message, HasSubstr("line "));
        }
    }
}

}  // namespace
}  // namespace holdfast::doors::redis
