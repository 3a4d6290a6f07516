#pragma once

// The commands on keys. Each is a row of a table: its name, how many words it has, and what it does.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "doors/redis/commands/keyspace.h"
#include "doors/redis/commands/words.h"
#include "doors/redis/step_budget.h"
#include "rights/denial.h"

namespace holdfast::doors::redis {

// What a command runs on.
struct KeyContext {
    Keyspace& keys;
    core::Time now;
    const service::Clock& clock;
    StepBudget& budget;  // of the whole step
};

// Which words of a command are keys.
enum class KeyWords : std::uint8_t {
    first,  // the one behind the name
    all,    // all behind the name
    pairs,  // every second one: a value follows each key
};

struct KeyCommand {
    std::string_view name;  // in lower case
    std::size_t words_min;  // with the name
    std::size_t words_max;
    rights::Right needs;  // on each key
    KeyWords keys;
    Reply (*run)(KeyContext& context, Words words);
};

[[nodiscard]] std::span<const KeyCommand> all_key_commands();
// The command with this name, in any case of letters; null if there is none.
[[nodiscard]] const KeyCommand* find_key_command(std::string_view name);

// Why the client may not run the command on these keys; no value if it may. A null client has no
// limits. REQUIRES: the command has the right number of words.
[[nodiscard]] std::optional<Reply> deny(const rights::Token* client, const KeyCommand& command,
                                        Words words, unsigned database);
// The same for one right on one key.
[[nodiscard]] std::optional<Reply> deny(const rights::Token* client, rights::Right right,
                                        std::string_view key, unsigned database);

// Why the client may not even look at anything at this door; no value if it may.
[[nodiscard]] std::optional<Reply> deny_everything(const rights::Token* client);

// How many keys the command names. REQUIRES: it has the right number of words.
[[nodiscard]] std::size_t count_keys(const KeyCommand& command, Words words);

// True if the command can have so many words.
[[nodiscard]] bool has_right_size(const KeyCommand& command, Words words);

}  // namespace holdfast::doors::redis
