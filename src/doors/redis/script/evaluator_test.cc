#include "doors/redis/script/evaluator.h"

#include <gmock/gmock.h>
#include <pthread.h>

#include <map>
#include <string>

#include "doors/redis/script/descent.h"
#include "doors/redis/script/parser.h"
#include "doors/redis/script/test_repeat.h"

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

Reply run(std::string_view text, const ScriptInput& input, StepBudget& budget) {
    MapCommands commands;
    commands.values["held"] = "me";
    const auto script = parse_script(text);
    if (!script) return Reply::error(script.error().message);
    return run_script(*script, input, commands, budget);
}

Reply run(std::string_view text, const ScriptInput& input = {}) {
    StepBudget budget;
    return run(text, input, budget);
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

TEST(ScriptEvaluator, JoinsTextsAsLuaDoes) {
    const auto text = [](std::string_view script) {
        return run(script, {.keys = {"k"}, .args = {"12", "x"}}).text;
    };
    EXPECT_EQ(text("return 'lock:' .. KEYS[1] .. ':' .. ARGV[1]"), "lock:k:12");
    EXPECT_EQ(text("return 1 + 2 .. '-' .. 10 / 4"), "3-2.5");
    EXPECT_EQ(text("return 100000000000000000 .. ''"), "1e+17");
    EXPECT_EQ(text("return -ARGV[1] .. ''"), "-12");
    EXPECT_EQ(text("local s = 'a' for i = 1, 3 do s = s .. s end return s"), "aaaaaaaa");
    EXPECT_EQ(number("return 'a' .. 'b' == 'ab' and 1 or 0"), 1) << "joins before it compares";
    EXPECT_EQ(number("return #('ab' .. 'c')"), 3);
    EXPECT_THAT(text("return 'a' .. nil"), HasSubstr("string expected, got nil"));
    EXPECT_THAT(text("return {} .. 'a'"), HasSubstr("string expected, got table"));
    // One node for a chain of any length, and one copy.
    EXPECT_EQ(text("return 'x'" + repeat(" .. 'x'", 1000)).size(), 1001U);
}

TEST(ScriptEvaluator, FormatsAsLuaDoes) {
    const auto text = [](std::string_view script) { return run(script, {.args = {"12"}}).text; };
    EXPECT_EQ(text("return string.format('lock:%s:%d%%', 'a', ARGV[1])"), "lock:a:12%");
    EXPECT_EQ(text("return string.format('%5d|%-5d|%05d|%+d', 42, 42, 42, 42)"),
              "   42|42   |00042|+42");
    EXPECT_EQ(text("return string.format('%x %X %o %c %i', 255, 255, 8, 65, 2.9)"), "ff FF 10 A 2");
    EXPECT_EQ(text("return string.format('%.2f %g %e', 1.005, 0.1, 12345)"),
              "1.00 0.1 1.234500e+04");
    EXPECT_EQ(text("return string.format('%10s|%-10s|%.2s', 'abc', 'abc', 'abc')"),
              "       abc|abc       |ab");
    EXPECT_EQ(text("return string.format('plain')"), "plain");
    EXPECT_EQ(text("return string.format('%d', 99999999999999999999999)"), "-9223372036854775808");
    EXPECT_EQ(text("return #string.format('%99.99f', 1) .. ''"), "101");
    for (const char* wrong :
         {"'%d', 'x'", "'%d'", "'%'", "'%q', 'x'", "'%100d', 1", "'%5'", "'%s', {}",
          "'%------d', 1", "'%.100f', 1", "'%n', 1", "'%*d', 1, 1"}) {
        EXPECT_THAT(text("return string.format(" + std::string(wrong) + ")"),
                    HasSubstr("ERR Error running script"))
            << wrong;
    }
}

// What is made is charged before it is made: doubling a text ends soon, whatever makes it.
TEST(ScriptEvaluator, ChargesTextsThatItMakes) {
    for (const char* twice :
         {"s = s .. s", "s = string.format('%s%s', s, s)", "s = s .. 'x' .. s .. s"}) {
        StepBudget budget;
        const Reply reply =
            run("local s = 'xxxxxxxx' for i = 1, 60 do " + std::string(twice) + " end return #s",
                {}, budget);
        EXPECT_THAT(reply.text, HasSubstr("makes more than 1048576 bytes")) << twice;
        EXPECT_LE(budget.bytes(), step_bytes_max);
        EXPECT_LT(budget.steps(), 500U);
    }
}

TEST(ScriptEvaluator, CallsBuiltinsByOtherNames) {
    EXPECT_EQ(run("local rcall, try = redis.call, redis.pcall "
                  "if try('nosuch').err then return rcall('get', 'held') end")
                  .text,
              "me");
    EXPECT_EQ(number("local n = tonumber local function f(x) return n(x) end return f('7') + 1"),
              8);
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
}

// --- Bounded where it is made ---

// Runs a function on a thread with a small stack.
template <class Run>
Reply run_on_small_stack(const Run& run) {
    struct Task {
        const Run& run;
        Reply reply;
    } task{run, {}};
    pthread_attr_t attributes;
    EXPECT_EQ(pthread_attr_init(&attributes), 0);
    EXPECT_EQ(pthread_attr_setstacksize(&attributes, 2 * script_stack_bytes_max), 0);
    pthread_t thread{};
    const auto enter = [](void* given) -> void* {
        auto& its = *static_cast<Task*>(given);
        its.reply = its.run();
        return nullptr;
    };
    EXPECT_EQ(pthread_create(&thread, &attributes, enter, &task), 0);
    EXPECT_EQ(pthread_join(thread, nullptr), 0);
    pthread_attr_destroy(&attributes);
    return task.reply;
}

// A function that calls itself at the bottom of a high tree: the trees of all its calls were on the
// stack at once, and ended the server.
TEST(ScriptEvaluator, RefusesATreeThatIsTooHighForTheStack) {
    const std::string script =
        "local function f(x) return f(x)" + repeat("+1", 2000) + " end return f(1)";
    EXPECT_EQ(script.size(), 4047U);
    EXPECT_THAT(run_on_small_stack([&] { return run(script); }).text, HasSubstr("levels"));
}

// Everything that is allowed, at its limits at once.
TEST(ScriptEvaluator, FitsIntoASmallStack) {
    const std::string chain = repeat("+1", script_height_max - 2);
    const std::string deep = repeat("(", 15) + "f(x)" + repeat("+1)", 15);
    const std::string nested = repeat("do ", 30) + "return f(x)" + repeat(" end", 30);
    for (const std::string& body : std::initializer_list<std::string>{
             "return f(x)" + chain, "return " + deep, nested, "return {{{{f(x)}}}}",
             "return redis.call('get', f(x))"}) {
        const Reply reply = run_on_small_stack(
            [&] { return run("local function f(x) " + body + " end return f(1)"); });
        EXPECT_THAT(reply.text, HasSubstr("too deep")) << body;
    }
}

TEST(ScriptEvaluator, EvaluatesWhatIsNestedAsDeepAsAllowed) {
    EXPECT_EQ(number("return 1" + repeat("+1", script_height_max - 1)), script_height_max);
    EXPECT_EQ(number("local function f(x) if x > 0 then return f(x - 1) + 1 end return 0 end "
                     "return f(15)"),
              15);
}

// Each line doubles the reply; nothing of it is made.
TEST(ScriptEvaluator, RefusesAReplyThatIsMuchLargerThanItsValue) {
    for (const int doublings : {20, 39}) {
        StepBudget budget;
        const Reply reply = run(
            "local t = {1} for i = 1, " + std::to_string(doublings) + " do t = {t, t} end return t",
            {}, budget);
        EXPECT_EQ(reply,
                  Reply::error("ERR the script or transaction returns more than 4096 values"));
        EXPECT_LT(budget.bytes(), step_bytes_max);
    }
    EXPECT_THAT(run("local t = {1} for i = 1, 40 do t = {t, t} end return t").text,
                HasSubstr("nested more than 40 times"));
    EXPECT_EQ(run("local t = {1} for i = 1, 10 do t = {t, t} end return t").items.size(), 2U);
}

TEST(ScriptEvaluator, BoundsTheBytesOfAReply) {
    const std::string large(60'000, 'x');
    const auto reply_of = [&](int copies) {
        return run("return {" + repeat("ARGV[1],", copies) + "}", {.args = {large}});
    };
    EXPECT_EQ(reply_of(16).items.size(), 16U);
    EXPECT_THAT(reply_of(18).text, HasSubstr("makes more than 1048576 bytes"));
}

// Sharing a text is free. Making, comparing and giving away is not.
TEST(ScriptEvaluator, CountsTheBytesThatItCopies) {
    const std::string large(65'000, 'x');
    const auto bytes_of = [&](std::string_view text) {
        StepBudget budget;
        const Reply reply = run(text, {.args = {large, large}}, budget);
        EXPECT_FALSE(reply.is_error()) << reply.text;
        return budget.bytes();
    };
    for (const char* script : {"for i = 1, 1000 do local x = ARGV[1] end",
                               "local t = {ARGV[1]} for i = 1, 1000 do local u = {unpack(t)} end",
                               "local t = {} for i = 1, 1000 do table.insert(t, ARGV[1]) end",
                               "for i = 1, 1000 do for j, x in ipairs(ARGV) do end end"}) {
        EXPECT_LT(bytes_of(script), 200'000U) << script;
    }
    for (const char* once : {"string.sub(ARGV[1], 2)", "ARGV[1] == ARGV[2]", "ARGV[1] < ARGV[2]",
                             "redis.call('del', ARGV[1])", "redis.status_reply(ARGV[1])"}) {
        EXPECT_GE(bytes_of("local x = " + std::string(once)), 64'999U) << once;
        const std::string often = "for i = 1, 1000 do local x = " + std::string(once) + " end";
        EXPECT_THAT(run(often, {.args = {large, large}}).text, HasSubstr("bytes")) << once;
    }
}

TEST(ScriptEvaluator, BoundsWhatIsAlive) {
    for (const char* script :
         {"local t = {} for i = 1, 6000 do t = {unpack(t)} t[#t + 1] = i end",
          "local t = {1,2,3,4,5,6,7,8} for i = 1, 9 do t = {unpack(t), unpack(t)} end "
          "for i = 1, 4000 do local u = {unpack(t)} end",
          "local t = {} for i = 1, 3900 do t = {{}, {}} end",
          "local s = ARGV[1] local t = {} for i = 1, 5000 do t[i] = string.sub(s, i) end"}) {
        const std::string large(60'000, 'x');
        StepBudget budget;
        EXPECT_TRUE(run(script, {.args = {large}}, budget).is_error()) << script;
        EXPECT_LE(budget.bytes(), step_bytes_max);
        EXPECT_LE(budget.steps(), step_steps_max);
    }
    std::string names = "a0";
    for (int name = 1; name < 199; ++name) names += ",a" + std::to_string(name);
    EXPECT_THAT(run("local function f() local " + names + " end for i = 1, 2000 do f() end").text,
                HasSubstr("steps"))
        << "a frame of a function takes time, too";
}

TEST(ScriptEvaluator, SharesOneBudgetAmongAllScriptsOfAStep) {
    StepBudget budget;
    const std::string some = "for i = 1, 3000 do end return 1";
    int answered = 0;
    while (run(some, {}, budget) == Reply::integer(1)) ++answered;
    EXPECT_EQ(answered, 6) << "3000 iterations are a bit more than 3000 steps";
    EXPECT_EQ(run(some, {}, budget),
              Reply::error("ERR the script or transaction takes more than 20000 steps"));
}

TEST(ScriptEvaluator, UsesPlacesOfVariablesAgain) {
    EXPECT_EQ(number("do local a = 1 end local b return b == nil and 1 or 0"), 1);
    EXPECT_EQ(
        number("local x = 1 do local y = 2 local z = 3 x = x + y + z end local w = 4 return x + w"),
        10);
    EXPECT_EQ(number("local function f(a) do local b = a * 2 a = b end local c return c or a end "
                     "local q = 7 return f(3) + q"),
              13);
}

// Otherwise its memory would never be freed.
TEST(ScriptEvaluator, LetsNoTableContainItself) {
    EXPECT_THAT(run("local t = {} t[1] = t").text, HasSubstr("into another one"));
    EXPECT_THAT(run("local t = {} table.insert(t, t)").text, HasSubstr("into another one"));
}

}  // namespace
}  // namespace holdfast::doors::redis
