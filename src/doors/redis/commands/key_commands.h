#pragma once

// The commands on keys. Each is a row of a table: its name, how many words it has, and what it does.

#include <cstddef>
#include <string_view>

#include "doors/redis/commands/keyspace.h"
#include "doors/redis/commands/words.h"

namespace holdfast::doors::redis {

// What a command runs on.
struct KeyContext {
    Keyspace& keys;
    core::Time now;
    const service::Clock& clock;
};

struct KeyCommand {
    std::string_view name;  // in lower case
    std::size_t words_min;  // with the name
    std::size_t words_max;
    Reply (*run)(KeyContext& context, Words words);
};

// The command with this name, in any case of letters; null if there is none.
[[nodiscard]] const KeyCommand* find_key_command(std::string_view name);

// An error if the command cannot have so many words.
[[nodiscard]] bool has_right_size(const KeyCommand& command, Words words);

}  // namespace holdfast::doors::redis
