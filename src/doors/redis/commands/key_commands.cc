#include "doors/redis/commands/key_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "doors/redis/commands/words.h"

namespace holdfast::doors::redis {

namespace {

using Condition = SetRequest::Condition;

Reply too_many_keys() {
    return Reply::error(fmt::format("ERR too many keys: at most {} in one command", keys_max));
}

Reply invalid_expire_time(std::string_view command) {
    return Reply::error(fmt::format("ERR invalid expire time in '{}' command", to_lower(command)));
}

// The options of SET behind the value. No value if they are fine.
std::optional<Reply> read_set_options(const KeyContext& context, Words words, SetRequest& request) {
    bool has_expiry = false;
    for (std::size_t index = 3; index < words.size(); ++index) {
        const std::string_view word = words[index];
        const bool has_next = index + 1 < words.size();
        const bool has_condition = request.condition != Condition::none;
        if (is_word(word, "nx") && !has_condition) {
            request.condition = Condition::if_absent;
        } else if (is_word(word, "xx") && !has_condition) {
            request.condition = Condition::if_present;
        } else if (is_word(word, "ifeq") && !has_condition && has_next) {
            request.condition = Condition::if_equal;
            request.compared = words[++index];
        } else if (is_word(word, "keepttl") && !has_expiry) {
            request.keeps_ttl = has_expiry = true;
        } else if (const auto form = find_expiry_form(word); form && !has_expiry && has_next) {
            const auto number = parse_integer(words[++index]);
            if (!number) return not_an_integer();
            const auto ttl = time_until(*form, *number, context.now, context.clock);
            if (*number <= 0 || !ttl || *ttl <= core::Duration::zero()) {
                return invalid_expire_time("set");
            }
            request.ttl = *ttl;
            has_expiry = true;
        } else {
            return syntax_error();
        }
    }
    return std::nullopt;
}

Reply run_set(KeyContext& context, Words words) {
    SetRequest request{.key = words[1], .value = words[2]};
    if (auto fault = read_set_options(context, words, request)) return std::move(*fault);
    return context.keys.set(request);
}

Reply run_setnx(KeyContext& context, Words words) {
    Reply reply =
        context.keys.set({.key = words[1], .value = words[2], .condition = Condition::if_absent});
    if (reply.is_error()) return reply;
    return Reply::integer(reply.kind == Reply::Kind::null ? 0 : 1);
}

// SETEX and PSETEX: SET with the time in front of the value.
Reply set_with_time(KeyContext& context, Words words, ExpiryForm form) {
    const auto number = parse_integer(words[2]);
    if (!number) return not_an_integer();
    const auto ttl = time_until(form, *number, context.now, context.clock);
    if (*number <= 0 || !ttl) return invalid_expire_time(words[0]);
    return context.keys.set({.key = words[1], .value = words[3], .ttl = *ttl});
}

Reply run_setex(KeyContext& context, Words words) {
    return set_with_time(context, words, {.is_seconds = true});
}

Reply run_psetex(KeyContext& context, Words words) {
    return set_with_time(context, words, {});
}

Reply set_several(KeyContext& context, Words words, bool if_absent) {
    if (words.size() % 2 == 0) return wrong_arguments(to_lower(words[0]));
    if (words.size() / 2 > keys_max) return too_many_keys();
    std::vector<SetRequest> requests;
    for (std::size_t index = 1; index < words.size(); index += 2) {
        requests.push_back({.key = words[index], .value = words[index + 1]});
    }
    return context.keys.set_all(requests, if_absent);
}

Reply run_mset(KeyContext& context, Words words) {
    return set_several(context, words, false);
}

Reply run_msetnx(KeyContext& context, Words words) {
    return set_several(context, words, true);
}

Reply run_get(KeyContext& context, Words words) {
    return context.keys.get(words[1]);
}

Reply run_mget(KeyContext& context, Words words) {
    if (words.size() - 1 > keys_max) return too_many_keys();
    std::vector<Reply> values;
    for (const std::string_view key : words.subspan(1)) values.push_back(context.keys.get(key));
    return Reply::array(std::move(values));
}

// GETRANGE: a part of the value. Positions count from zero, and from the end if they are negative.
Reply run_getrange(KeyContext& context, Words words) {
    auto first = parse_integer(words[2]), last = parse_integer(words[3]);
    if (!first || !last) return not_an_integer();
    const Reply value = context.keys.get(words[1]);
    const auto size = static_cast<std::int64_t>(value.text.size());
    if (*first < 0) *first = std::max<std::int64_t>(0, *first + size);
    if (*last < 0) *last = std::max<std::int64_t>(0, *last + size);
    *last = std::min(*last, size - 1);
    if (*first > *last) return Reply::bulk("");
    return Reply::bulk(std::string_view(value.text)
                           .substr(static_cast<std::size_t>(*first),
                                   static_cast<std::size_t>(*last - *first + 1)));
}

Reply run_exists(KeyContext& context, Words words) {
    if (words.size() - 1 > keys_max) return too_many_keys();
    const auto keys = words.subspan(1);
    return Reply::integer(std::count_if(
        keys.begin(), keys.end(), [&](std::string_view key) { return context.keys.exists(key); }));
}

Reply run_type(KeyContext& context, Words words) {
    return Reply::status(context.keys.exists(words[1]) ? "string" : "none");
}

Reply run_pttl(KeyContext& context, Words words) {
    return Reply::integer(context.keys.time_to_live_ms(words[1]));
}

Reply run_ttl(KeyContext& context, Words words) {
    const std::int64_t left_ms = context.keys.time_to_live_ms(words[1]);
    return Reply::integer(left_ms < 0 ? left_ms : (left_ms + 500) / 1000);
}

Reply run_del(KeyContext& context, Words words) {
    if (words.size() - 1 > keys_max) return too_many_keys();
    return context.keys.remove_all(words.subspan(1));
}

// DELEX key [IFEQ value].
Reply run_delex(KeyContext& context, Words words) {
    if (words.size() == 2) return context.keys.remove_all(words.subspan(1));
    if (words.size() != 4 || !is_word(words[2], "ifeq")) return syntax_error();
    return context.keys.remove_if_equal(words[1], words[3]);
}

Reply run_delifeq(KeyContext& context, Words words) {
    return context.keys.remove_if_equal(words[1], words[2]);
}

// The options of EXPIRE behind the time. No value if they are fine.
std::optional<Reply> read_expire_options(Words words, ExpireRequest& request) {
    for (const std::string_view word : words.subspan(3)) {
        if (is_word(word, "nx")) {
            request.only_if_endless = true;
        } else if (is_word(word, "xx")) {
            request.only_if_ending = true;
        } else if (is_word(word, "gt")) {
            request.only_later = true;
        } else if (is_word(word, "lt")) {
            request.only_earlier = true;
        } else {
            return Reply::error(fmt::format("ERR Unsupported option {}", word.substr(0, 128)));
        }
    }
    const auto excluded = [](std::string_view which) {
        return Reply::error(
            fmt::format("ERR {} options at the same time are not compatible", which));
    };
    if (request.only_if_endless &&
        (request.only_if_ending || request.only_later || request.only_earlier)) {
        return excluded("NX and XX, GT or LT");
    }
    if (request.only_later && request.only_earlier) return excluded("GT and LT");
    return std::nullopt;
}

Reply expire_at(KeyContext& context, Words words, ExpiryForm form) {
    const std::string command = to_lower(words[0]);
    ExpireRequest request{.key = words[1], .command = command};
    if (auto fault = read_expire_options(words, request)) return std::move(*fault);
    const auto number = parse_integer(words[2]);
    if (!number) return not_an_integer();
    const auto ttl = time_until(form, *number, context.now, context.clock);
    if (!ttl) return invalid_expire_time(words[0]);
    request.ttl = *ttl;
    return context.keys.expire(request);
}

Reply run_expire(KeyContext& context, Words words) {
    return expire_at(context, words, {.is_seconds = true});
}
Reply run_pexpire(KeyContext& context, Words words) {
    return expire_at(context, words, {});
}
Reply run_expireat(KeyContext& context, Words words) {
    return expire_at(context, words, {.is_seconds = true, .is_absolute = true});
}
Reply run_pexpireat(KeyContext& context, Words words) {
    return expire_at(context, words, {.is_absolute = true});
}

Reply run_persist(KeyContext& context, Words words) {
    return context.keys.persist(words[1]);
}

Reply run_fence(KeyContext& context, Words words) {
    return context.keys.fence(words[1]);
}

using rights::Right;

constexpr std::size_t many = SIZE_MAX;

// In the order of their names.
constexpr KeyCommand key_commands[] = {
    {"del", 2, many, Right::lock, KeyWords::all, run_del},
    {"delex", 2, 4, Right::lock, KeyWords::first, run_delex},
    {"delifeq", 3, 3, Right::lock, KeyWords::first, run_delifeq},
    {"exists", 2, many, Right::read, KeyWords::all, run_exists},
    {"expire", 3, many, Right::lock, KeyWords::first, run_expire},
    {"expireat", 3, many, Right::lock, KeyWords::first, run_expireat},
    {"get", 2, 2, Right::read, KeyWords::first, run_get},
    {"getrange", 4, 4, Right::read, KeyWords::first, run_getrange},
    {"holdfast.fence", 2, 2, Right::read, KeyWords::first, run_fence},
    {"mget", 2, many, Right::read, KeyWords::all, run_mget},
    {"mset", 3, many, Right::lock, KeyWords::pairs, run_mset},
    {"msetnx", 3, many, Right::lock, KeyWords::pairs, run_msetnx},
    {"persist", 2, 2, Right::lock, KeyWords::first, run_persist},
    {"pexpire", 3, many, Right::lock, KeyWords::first, run_pexpire},
    {"pexpireat", 3, many, Right::lock, KeyWords::first, run_pexpireat},
    {"psetex", 4, 4, Right::lock, KeyWords::first, run_psetex},
    {"pttl", 2, 2, Right::read, KeyWords::first, run_pttl},
    {"set", 3, many, Right::lock, KeyWords::first, run_set},
    {"setex", 4, 4, Right::lock, KeyWords::first, run_setex},
    {"setnx", 3, 3, Right::lock, KeyWords::first, run_setnx},
    {"ttl", 2, 2, Right::read, KeyWords::first, run_ttl},
    {"type", 2, 2, Right::read, KeyWords::first, run_type},
    {"unlink", 2, many, Right::lock, KeyWords::all, run_del},
};

}  // namespace

std::span<const KeyCommand> all_key_commands() {
    return key_commands;
}

const KeyCommand* find_key_command(std::string_view name) {
    constexpr std::size_t longest = 16;
    if (name.size() > longest) return nullptr;
    const std::string lower = to_lower(name);
    const auto* const found = std::lower_bound(
        std::begin(key_commands), std::end(key_commands), lower,
        [](const KeyCommand& command, const std::string& wanted) { return command.name < wanted; });
    return found != std::end(key_commands) && found->name == lower ? found : nullptr;
}

std::optional<Reply> deny(const rights::Token* client, Right right, std::string_view key,
                          unsigned database) {
    if (client == nullptr) return std::nullopt;
    const std::string name = name_of(key, database);
    const auto denial =
        rights::deny(client, {right, rights::Door::redis, core::Scope::named(name)});
    if (!denial) return std::nullopt;
    return Reply::error("NOPERM " + denial->sentence);
}

std::optional<Reply> deny(const rights::Token* client, const KeyCommand& command, Words words,
                          unsigned database) {
    if (client == nullptr || client->everywhere(rights::Door::redis) >= command.needs) {
        return std::nullopt;
    }
    const std::size_t end = command.keys == KeyWords::first ? 2 : words.size();
    const std::size_t step = command.keys == KeyWords::pairs ? 2 : 1;
    for (std::size_t index = 1; index < end; index += step) {
        if (auto denied = deny(client, command.needs, words[index], database)) return denied;
    }
    return std::nullopt;
}

std::optional<Reply> deny_everything(const rights::Token* client) {
    if (client == nullptr || client->may_something(Right::read, rights::Door::redis)) {
        return std::nullopt;
    }
    const auto denial = rights::refuse_anything(*client, Right::read, rights::Door::redis);
    return Reply::error("NOPERM " + denial.sentence);
}

std::size_t count_keys(const KeyCommand& command, Words words) {
    switch (command.keys) {
        case KeyWords::first: return 1;
        case KeyWords::all: return words.size() - 1;
        case KeyWords::pairs: break;
    }
    return words.size() / 2;
}

bool has_right_size(const KeyCommand& command, Words words) {
    return words.size() >= command.words_min && words.size() <= command.words_max;
}

}  // namespace holdfast::doors::redis
