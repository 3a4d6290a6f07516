#pragma once

// The commands that concern the connection and not its keys: HELLO, AUTH, SELECT, CLIENT, SCRIPT and
// so on. They are answered at once.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doors/redis/commands/words.h"
#include "doors/redis/redis_door.h"
#include "doors/redis/resp/reply.h"

namespace holdfast::doors::redis {

// What a connection knows of its client.
struct ConnectionState {
    std::int64_t id = 0;
    RespVersion version = RespVersion::resp2;
    unsigned database = 0;
    bool is_admitted = false;
    rights::TokenPtr client;  // whose password was shown; null: no password is needed
    std::string name;
};

struct ConnectionAnswer {
    Reply reply;
    bool is_refusal = false;  // the password was wrong: the answer comes after a delay
    bool is_last = false;     // the connection closes after it
};

// Their names, in lower case.
[[nodiscard]] std::vector<std::string_view> connection_command_names();

// Runs the command; no value if it is none of these. A client that has not shown the password may do
// nothing else than show it: every command is answered here then.
[[nodiscard]] std::optional<ConnectionAnswer> run_connection_command(ConnectionState& state,
                                                                     RedisDoor& door, Words words);

}  // namespace holdfast::doors::redis
