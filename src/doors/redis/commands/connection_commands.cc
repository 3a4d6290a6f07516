#include "doors/redis/commands/connection_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "doors/redis/commands/key_commands.h"

namespace holdfast::doors::redis {

namespace {

ConnectionAnswer wrong_password() {
    constexpr auto text = "WRONGPASS invalid username-password pair or user is disabled.";
    return {.reply = Reply::error(text), .is_refusal = true};
}

// AUTH password, or AUTH user password. There are no users: any name will do.
ConnectionAnswer run_auth(ConnectionState& state, RedisDoor& door, Words words) {
    if (words.size() > 3) return {.reply = syntax_error()};
    const auto tokens = door.tokens().current();
    if (tokens->is_open()) {
        return {.reply = Reply::error("ERR AUTH <password> called without any password configured "
                                      "for the default user. Are you sure your configuration is "
                                      "correct?")};
    }
    auto client = tokens->find(words.back());
    if (!client) return wrong_password();
    if (auto denied = deny_everything(client.get())) return {.reply = std::move(*denied)};
    state.client = std::move(client);
    state.is_admitted = true;
    return {.reply = Reply::ok()};
}

Reply hello_reply(const ConnectionState& state) {
    return {.kind = Reply::Kind::map,
            .items = {Reply::bulk("server"), Reply::bulk("redis"), Reply::bulk("version"),
                      Reply::bulk(redis_version), Reply::bulk("proto"),
                      Reply::integer(static_cast<std::int64_t>(state.version)), Reply::bulk("id"),
                      Reply::integer(state.id), Reply::bulk("mode"), Reply::bulk("standalone"),
                      Reply::bulk("role"), Reply::bulk("master"), Reply::bulk("modules"),
                      Reply::array({})}};
}

// HELLO [version [AUTH user password] [SETNAME name]].
ConnectionAnswer run_hello(ConnectionState& state, RedisDoor& door, Words words) {
    RespVersion version = state.version;
    if (words.size() > 1) {
        const auto number = parse_integer(words[1]);
        if (number != 2 && number != 3) {
            return {.reply = Reply::error("NOPROTO unsupported protocol version")};
        }
        version = number == 3 ? RespVersion::resp3 : RespVersion::resp2;
    }
    std::string name = state.name;
    bool is_admitted = state.is_admitted;
    rights::TokenPtr client = state.client;
    for (std::size_t index = 2; index < words.size(); ++index) {
        if (is_word(words[index], "auth") && index + 2 < words.size()) {
            const auto tokens = door.tokens().current();
            client = tokens->find(words[index + 2]);
            if (!client && !tokens->is_open()) return wrong_password();
            if (auto denied = deny_everything(client.get())) return {.reply = std::move(*denied)};
            is_admitted = true;
            index += 2;
        } else if (is_word(words[index], "setname") && index + 1 < words.size()) {
            name = words[++index];
        } else {
            return {.reply = Reply::error(
                        fmt::format("ERR Syntax error in HELLO option '{}'", words[index]))};
        }
    }
    if (!is_admitted) {
        return {.reply = Reply::error("NOAUTH HELLO must be called with the client already "
                                      "authenticated, otherwise the HELLO <proto> AUTH <user> "
                                      "<pass> option can be used to authenticate the client and "
                                      "select the RESP protocol version at the same time")};
    }
    state.version = version;
    state.is_admitted = is_admitted;
    state.client = std::move(client);
    state.name = std::move(name);
    return {.reply = hello_reply(state)};
}

ConnectionAnswer run_select(ConnectionState& state, RedisDoor& /*door*/, Words words) {
    const auto number = parse_integer(words[1]);
    if (!number) return {.reply = Reply::error("ERR invalid DB index")};
    if (*number < 0 || *number >= std::int64_t{databases}) {
        return {.reply = Reply::error("ERR DB index is out of range")};
    }
    state.database = static_cast<unsigned>(*number);
    return {.reply = Reply::ok()};
}

Reply unknown_subcommand(Words words) {
    return Reply::error(fmt::format("ERR unknown subcommand '{}'. Try {} HELP.",
                                    words[1].substr(0, 128), to_lower(words[0])));
}

ConnectionAnswer run_client(ConnectionState& state, RedisDoor& /*door*/, Words words) {
    const auto is = [&](std::string_view name, std::size_t size) {
        return is_word(words[1], name) && words.size() == size;
    };
    if (is("id", 2)) return {.reply = Reply::integer(state.id)};
    if (is("getname", 2)) return {.reply = Reply::bulk(state.name)};
    if (is("setname", 3)) {
        state.name = words[2];
        return {.reply = Reply::ok()};
    }
    if (is("setinfo", 4) || is("no-evict", 3) || is("no-touch", 3)) return {.reply = Reply::ok()};
    return {.reply = unknown_subcommand(words)};
}

ConnectionAnswer run_ping(ConnectionState& /*state*/, RedisDoor& /*door*/, Words words) {
    return {.reply = words.size() == 1 ? Reply::status("PONG") : Reply::bulk(words[1])};
}

ConnectionAnswer run_echo(ConnectionState& /*state*/, RedisDoor& /*door*/, Words words) {
    return {.reply = Reply::bulk(words[1])};
}

// Clients look for the version, the role, and whether the server is still loading.
ConnectionAnswer run_info(ConnectionState& /*state*/, RedisDoor& /*door*/, Words /*words*/) {
    return {.reply =
                Reply::bulk(fmt::format("# Server\r\nredis_version:{}\r\nserver_name:holdfast\r\n"
                                        "redis_mode:standalone\r\n# Persistence\r\nloading:0\r\n"
                                        "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n",
                                        redis_version))};
}

ConnectionAnswer run_command(ConnectionState& /*state*/, RedisDoor& /*door*/, Words words) {
    const bool is_count = words.size() == 2 && is_word(words[1], "count");
    return {.reply = is_count ? Reply::integer(0) : Reply::array({})};
}

// SCRIPT LOAD text, SCRIPT EXISTS sha1..., SCRIPT FLUSH [ASYNC|SYNC].
ConnectionAnswer run_script_command(ConnectionState& state, RedisDoor& door, Words words) {
    if (auto denied = deny_everything(state.client.get())) return {.reply = std::move(*denied)};
    if (is_word(words[1], "load") && words.size() == 3) {
        const auto loaded = door.scripts().load(words[2]);
        if (loaded) return {.reply = Reply::bulk(loaded->sha1)};
        return {.reply = Reply::error("ERR Error compiling script: " + loaded.error().message)};
    }
    if (is_word(words[1], "exists") && words.size() > 2) {
        std::vector<Reply> known;
        for (const std::string_view sha1 : words.subspan(2)) {
            known.push_back(Reply::integer(door.scripts().find(sha1) ? 1 : 0));
        }
        return {.reply = Reply::array(std::move(known))};
    }
    if (is_word(words[1], "flush") && words.size() <= 3) {
        door.scripts().clear();
        return {.reply = Reply::ok()};
    }
    return {.reply = unknown_subcommand(words)};
}

ConnectionAnswer run_quit(ConnectionState& /*state*/, RedisDoor& /*door*/, Words /*words*/) {
    return {.reply = Reply::ok(), .is_last = true};
}

struct ConnectionCommand {
    std::string_view name;
    std::size_t words_min;
    std::size_t words_max;
    bool is_for_strangers;  // may be used before the password was shown
    ConnectionAnswer (*run)(ConnectionState&, RedisDoor&, Words);
};

constexpr ConnectionCommand connection_commands[] = {
    {"ping", 1, 2, false, run_ping},
    {"hello", 1, SIZE_MAX, true, run_hello},
    {"auth", 2, SIZE_MAX, true, run_auth},
    {"select", 2, 2, false, run_select},
    {"client", 2, SIZE_MAX, false, run_client},
    {"echo", 2, 2, false, run_echo},
    {"info", 1, SIZE_MAX, false, run_info},
    {"command", 1, SIZE_MAX, false, run_command},
    {"script", 2, SIZE_MAX, false, run_script_command},
    {"quit", 1, SIZE_MAX, true, run_quit},
};

}  // namespace

std::vector<std::string_view> connection_command_names() {
    std::vector<std::string_view> names;
    for (const ConnectionCommand& command : connection_commands) names.push_back(command.name);
    return names;
}

std::optional<ConnectionAnswer> run_connection_command(ConnectionState& state, RedisDoor& door,
                                                       Words words) {
    const auto* const found =
        std::find_if(std::begin(connection_commands), std::end(connection_commands),
                     [&](const ConnectionCommand& one) { return is_word(words[0], one.name); });
    const bool is_known = found != std::end(connection_commands);
    if (!state.is_admitted && !(is_known && found->is_for_strangers)) {
        return ConnectionAnswer{.reply = Reply::error("NOAUTH Authentication required.")};
    }
    if (!is_known) return std::nullopt;
    if (words.size() < found->words_min || words.size() > found->words_max) {
        return ConnectionAnswer{.reply = wrong_arguments(found->name)};
    }
    return found->run(state, door, words);
}

}  // namespace holdfast::doors::redis
