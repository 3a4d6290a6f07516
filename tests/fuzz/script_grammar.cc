#include "script_grammar.h"

#include <algorithm>

namespace holdfast::doors::redis {

namespace {

std::string repeat(std::string_view text, int times) {
    std::string all;
    for (int time = 0; time < times; ++time) all += text;
    return all;
}

}  // namespace

std::size_t ScriptGrammar::choose(std::size_t count) {
    return is_used_up() ? 0 : choices_[used_++] % count;
}

std::string ScriptGrammar::one_of(std::initializer_list<std::string_view> texts) {
    return std::string(*(texts.begin() + choose(texts.size())));
}

int ScriptGrammar::times() {
    constexpr int counts[] = {1, 2, 3, 5, 15, 30, 60, 64, 100, 1000};
    return counts[choose(std::size(counts))];
}

std::string ScriptGrammar::key() {
    return one_of({"KEYS[1]", "KEYS[2]", "KEYS[#KEYS]"});
}

std::string ScriptGrammar::number() {
    return one_of({"1", "n", "60000", "tonumber(ARGV[2])", "ARGV[2] + 1", "#KEYS", "#t", "#s",
                   "2 * 3 - 1", "7 % 4", "-1", "0.5", "10 / 4", "math.floor(n / 3)",
                   "math.max(n, 3, #KEYS)", "string.len(s)"});
}

std::string ScriptGrammar::text() {
    return one_of({"'x'", "s", "ARGV[1]", "ARGV[2]", "string.sub(s, 2, -2)", "tostring(n)",
                   "string.sub(ARGV[1], 1, 2)", "type(t)", "string.sub('hello', n)",
                   "(s .. ':' .. n)", "(ARGV[1] .. KEYS[1])", "(n / 3 .. '')",
                   "string.format('%s-%05d', s, n)", "string.format('%.3f|%x', n / 7, #s)",
                   "string.format('%-8s|%3.1s|%%', ARGV[1], s)"});
}

std::string ScriptGrammar::list() {
    const Level level(depth_);
    switch (may_nest() ? choose(5) : 0) {
        case 0: return one_of({"t", "{1, 'two', false}", "KEYS", "{}", "ARGV"});
        case 1: return "{" + number() + ", " + text() + "}";
        case 2: return "{unpack(" + list() + ")}";
        case 3: return "{" + list() + ", " + list() + "}";
        default: return "{" + repeat(number() + ", ", times()) + "}";
    }
}

std::string ScriptGrammar::look() {
    const std::string of = key();
    return one_of({"rcall('get', " + of + ")", "redis.call('get', " + of + ")",
                   "redis.call('exists', " + of + ")", "redis.call('exists', " + of + ", KEYS[1])",
                   "redis.call('type', " + of + ").ok", "redis.call('mget', unpack(KEYS))",
                   "redis.call('getrange', " + of + ", 0, 1)",
                   "#redis.call('mget', KEYS[1], " + of + ")"});
}

std::string ScriptGrammar::change() {
    const std::string of = key();
    return one_of(
        {"redis.call('set', " + of + ", ARGV[1], 'NX', 'PX', 60000)",
         "redis.call('setnx', " + of + ", ARGV[1])", "redis.call('del', " + of + ")",
         "redis.call('pexpire', " + of + ", 60000)", "redis.call('del', unpack(KEYS))",
         "redis.call('pexpire', " + of + ", 90000, 'NX')",
         "redis.call('pexpire', " + of + ", 90000, 'GT')",
         "redis.call('expire', " + of + ", 20, 'XX', 'LT')", "redis.call('persist', " + of + ")",
         "redis.call('set', " + of + ", redis.call('get', " + of + ") or ARGV[1], 'PX', ARGV[2])"});
}

std::string ScriptGrammar::value() {
    switch (choose(9)) {
        case 0: return one_of({"1", "nil", "true", "false", "x", "n", "s", "t"});
        case 1: return number();
        case 2: return text();
        case 3: return look();
        case 4: return change();
        case 5: return list();
        case 6:
            return one_of({"redis.status_reply('FINE')", "redis.error_reply('MY fault')",
                           "type(redis.pcall('get'))", "type(redis.pcall('nosuch', 'k'))"});
        case 7: return chain();
        default: return nested_value();
    }
}

std::string ScriptGrammar::nested_value() {
    const Level level(depth_);
    if (!may_nest()) return "x";
    switch (choose(8)) {
        case 0: return "(" + value() + " and " + value() + ")";
        case 1: return "(" + value() + " or " + value() + ")";
        case 2: return "(not " + value() + ")";
        case 3: return "(" + value() + " == " + value() + ")";
        case 4: return "(" + list() + ")[" + number() + "]";
        case 5: {
            const int parentheses = std::min(times(), 30);
            return repeat("(", parentheses) + number() + repeat(")", parentheses);
        }
        case 6: return "(" + text() + " < " + text() + ")";
        default: return has_function_ ? "f(" + value() + ")" : "x";
    }
}

// Operators one after the other, as long as it pleases: a tree that leans to the left.
std::string ScriptGrammar::chain() {
    const std::string more = one_of({" + 1", " - n", " * 2", " or x", " and 1", " + #KEYS"});
    return "(" + number() + repeat(more, times()) + ")";
}

std::string ScriptGrammar::condition() {
    switch (choose(6)) {
        case 0: return "redis.call('get', " + key() + ") == ARGV[1]";
        case 1: return "redis.call('exists', " + key() + ") == 0";
        case 2: return number() + " > 2";
        case 3: return "redis.call('pttl', " + key() + ") < 0";
        case 4: return "n < " + number();
        default: return value();
    }
}

// Lists of lists, and longer lists: each time around there is twice as much.
std::string ScriptGrammar::doubling() {
    const std::string twice = one_of({"t = {t, t}", "t = {unpack(t)} t[#t + 1] = n",
                                      "t = {unpack(t), unpack(t)}", "s = string.sub(s, 1)"});
    return "for i = 1, " + std::to_string(times()) + " do " + twice + " end";
}

std::string ScriptGrammar::statement() {
    const Level level(depth_);
    switch (may_nest() ? choose(16) : choose(6)) {
        case 0: return "n = " + number();
        case 1: return "s = " + text();
        case 2: return "x = " + value();
        case 3: return change();
        case 4: return "t = " + list();
        case 5: return "if type(t[1]) ~= 'table' then t[1] = " + number() + " end";
        case 6: return "local u = {} table.insert(u, " + number() + ") n = #u";
        case 7: return "if " + condition() + " then " + block() + " else " + block() + " end";
        case 8: return "if " + condition() + " then return " + value() + " end";
        case 9:
            return "for i, k in ipairs(KEYS) do if redis.call('get', k) == ARGV[1] then n = n + i "
                   "end end";
        case 10: return "for i = 1, " + std::to_string(times()) + " do " + statement() + " end";
        case 11: return "for i, v in ipairs(" + list() + ") do " + block() + " end";
        case 12: return "do local x, y = " + value() + " " + block() + " end";
        case 13: return doubling();
        case 14: return "for i = " + number() + ", 1, -3 do if i < 3 then break end n = i end";
        default: return "if " + condition() + " then " + repeat("n = n + 1 ", times()) + "end";
    }
}

std::string ScriptGrammar::block() {
    std::string all;
    for (std::size_t count = 1 + choose(3); count > 0; --count) all += statement() + " ";
    return all;
}

// A function that may call itself: with an end, without one, and before everything else.
std::string ScriptGrammar::function() {
    has_function_ = true;
    const std::string begin = one_of(
        {"", "if a == nil or a == 1 then return 1 end ", "if n > 20 then return n end n = n + 1 "});
    const std::string body = choose(2) == 0 ? block() : "";
    const std::string end = choose(2) == 0 ? value() : "f(a)" + repeat(" + 1", times());
    return "local function f(a) " + begin + body + " return " + end + " end ";
}

std::string ScriptGrammar::script() {
    has_function_ = false;
    std::string all = "local rcall = redis.call local n, s, t, x = 0, ARGV[1], {1} ";
    if (choose(3) == 1) all += function();
    all += block();
    return all + "return " + value();
}

}  // namespace holdfast::doors::redis
