#include "doors/redis/script/evaluator.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "doors/redis/script/parser.h"

namespace holdfast::doors::redis {
namespace {

using ::testing::HasSubstr;

// GET, SET and DEL on a map, and FAIL, which always does.
class MapCommands final : public ScriptCommands {
  public:
    Reply call(const std::vector<std::string_view>& words) override {
        const std::string key(words.size() > 1 ? words[1] : "");
        if (words[0] == "get") {
            const auto found = values.find(key);
            return found == values.end() ? Reply::null() : Reply::bulk(found->second);
        }
        if (words[0] == "set") {
            values[key] = words[2];
            return Reply::ok();
        }
        if (words[0] == "del") {
            return Reply::integer(static_cast<std::int64_t>(values.erase(key)));
        }
        if (words[0] == "mget") return Reply::array({Reply::bulk("a"), Reply::null()});
        return Reply::error("ERR it failed");
    }
    std::map<std::string, std::string> values;
};

Reply run(std::string_view text, const ScriptInput& input = {}) {
    MapCommands commands;
    commands.values["held"] = "me";
    const auto script = parse_script(text);
    if (!script) return Reply::error(script.error().message);
    return run_script(*script, input, commands);
}

std::int64_t number(std::string_view text) {
    const Reply reply = run(text, {.keys = {"a", "b"}, .args = {"12", "x"}});
    EXPECT_EQ(reply.kind, Reply::Kind::integer) << text << ": " << reply.text;
    return reply.number;
}

TEST(ScriptEvaluator, CalculatesAsLuaDoes) {
    EXPECT_EQ(number("return 1 + 2 * 3 - 4 / 2"), 5);
    EXPECT_EQ(number("return (1 + 2) * 3"), 9);
    EXPECT_EQ(number("return -7 % 3"), 2);
    EXPECT_EQ(number("return ARGV[1] + 1"), 13) << "a text that spells a number is one";
    EXPECT_EQ(number("return 3.99"), 3) << "Redis cuts fractions off";
    EXPECT_EQ(number("return #KEYS + #ARGV[2]"), 3);
    EXPECT_EQ(number("return math.max(1, 7, 3) - math.min(2, 1) + math.floor(2.5)"), 8);
    EXPECT_EQ(number("return tonumber('0') or 5"), 0) << "zero is true";
    EXPECT_EQ(number("return tonumber('zero') or 5"), 5);
}

TEST(ScriptEvaluator, ComparesAsLuaDoes) {
    EXPECT_EQ(number("if 10 == '10' then return 1 end return 0"), 0) << "two types";
    EXPECT_EQ(number("if 'a' < 'b' and not (2 > 3) then return 1 end return 0"), 1);
    EXPECT_EQ(number("if nil == false then return 1 end return 0"), 0);
    EXPECT_EQ(number("return (false or nil) == nil and 1 or 0"), 1);
    EXPECT_THAT(run("return 1 < '2'").text, HasSubstr("attempt to compare number with string"));
    EXPECT_THAT(run("return nil + 1").text, HasSubstr("arithmetic on a nil value"));
    EXPECT_THAT(run("return KEYS[1][1]", {.keys = {"a"}}).text, HasSubstr("index a string value"));
}

TEST(ScriptEvaluator, KnowsScopes) {
    EXPECT_EQ(number("local x = 1 do local x = 2 end return x"), 1);
    EXPECT_EQ(number("local x = 1 do x = 2 end return x"), 2);
    EXPECT_EQ(number("local x = 3 local x = x + 1 return x"), 4);
    EXPECT_EQ(number("local a, b = 1, 2 a, b = b, a return a * 10 + b"), 21);
    EXPECT_EQ(number("local x = 5 local function f(y) x = x + y return x end f(1) return f(2)"), 8);
    EXPECT_EQ(number("local function f(a, b) if b == nil then return a end return b end "
                     "return f(1) + f(1, 5)"),
              6);
}

TEST(ScriptEvaluator, Loops) {
    EXPECT_EQ(number("local n = 0 for i, k in ipairs(KEYS) do n = n + i end return n"), 3);
    EXPECT_EQ(number("local n = 0 for i = 10, 1, -3 do n = n + 1 end return n"), 4);
    EXPECT_EQ(number("for i = 1, 9 do if i == 4 then return i end end return 0"), 4);
    EXPECT_EQ(number("local n = 0 for i = 1, 9 do if i == 4 then break end n = i end return n"), 3);
    EXPECT_EQ(number("local t = {} for i, k in ipairs(KEYS) do table.insert(t, k) end return #t"),
              2);
}

TEST(ScriptEvaluator, TurnsValuesIntoRepliesAsRedisDoes) {
    EXPECT_EQ(run("return true"), Reply::integer(1));
    EXPECT_EQ(run("return false"), Reply::null());
    EXPECT_EQ(run(""), Reply::null());
    EXPECT_EQ(run("return 'x'"), Reply::bulk("x"));
    EXPECT_EQ(run("return {1, 'a', nil, 2}"), Reply::array({Reply::integer(1), Reply::bulk("a")}));
    EXPECT_EQ(run("return redis.status_reply('FINE')"), Reply::status("FINE"));
    EXPECT_EQ(run("return redis.error_reply('MY fault')"), Reply::error("MY fault"));
    EXPECT_EQ(run("return redis.error_reply('fault')"), Reply::error("ERR fault"));
    EXPECT_EQ(run("return string.sub('hello', 2, -2)"), Reply::bulk("ell"));
    EXPECT_EQ(run("return type(nil)"), Reply::bulk("nil"));
}

TEST(ScriptEvaluator, CallsCommands) {
    EXPECT_EQ(run("return redis.call('get', 'held')"), Reply::bulk("me"));
    EXPECT_EQ(run("if redis.call('get', 'free') == false then return 1 end"), Reply::integer(1));
    EXPECT_EQ(run("return redis.call('set', 'k', 5)"), Reply::ok());
    EXPECT_EQ(run("redis.call('set', 'k', 10 / 4) return redis.call('get', 'k')"),
              Reply::bulk("2.5"));
    EXPECT_EQ(run("return redis.call('set', 'k', 'v').ok"), Reply::bulk("OK"));
    EXPECT_EQ(run("return redis.call('mget', unpack(KEYS))[1]", {.keys = {"a"}}), Reply::bulk("a"));
    EXPECT_EQ(run("return redis.call('fail')"), Reply::error("ERR it failed"));
    EXPECT_EQ(run("redis.pcall('fail') return 7"), Reply::integer(7));
    EXPECT_EQ(run("return redis.pcall('fail')"), Reply::error("ERR it failed"));
    EXPECT_THAT(run("return redis.call('get', nil)").text, HasSubstr("strings or integers"));
}

TEST(ScriptEvaluator, AlwaysEnds) {
    EXPECT_THAT(run("for i = 1, 1000000000 do end").text, HasSubstr("steps"));
    EXPECT_THAT(run("for i = 1, 2, 0 do end").text, HasSubstr("steps"));
    EXPECT_THAT(run("local function f() return f() end return f()").text, HasSubstr("too deep"));
    EXPECT_THAT(run("local t = {1} for i, x in ipairs(t) do table.insert(t, i) end").text,
                HasSubstr("steps"));
    const std::string large(60'000, 'x');
    EXPECT_THAT(run("for i = 1, 1000 do local x = ARGV[1] end", {.args = {large}}).text,
                HasSubstr("steps"))
        << "copying costs time, too";
}

// Otherwise its memory would never be freed.
TEST(ScriptEvaluator, LetsNoTableContainItself) {
    EXPECT_THAT(run("local t = {} t[1] = t").text, HasSubstr("into another one"));
    EXPECT_THAT(run("local t = {} table.insert(t, t)").text, HasSubstr("into another one"));
}

}  // namespace
}  // namespace holdfast::doors::redis
