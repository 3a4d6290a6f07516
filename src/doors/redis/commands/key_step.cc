#include "doors/redis/commands/key_step.h"

#include <utility>

#include "doors/redis/script/evaluator.h"

namespace holdfast::doors::redis {

namespace {

// What redis.call() in a script reaches: the commands on keys, and SELECT.
class CommandsOfScript final : public ScriptCommands {
  public:
    CommandsOfScript(Keyspace& keys, KeyContext context, const rights::Token* client)
        : keys_(keys), context_(context), client_(client) {}

    Reply call(const std::vector<std::string_view>& words) override {
        if (is_word(words[0], "select")) return select(words);
        const KeyCommand* const command = find_key_command(words[0]);
        if (command == nullptr) {
            return Reply::error("ERR Unknown Redis command called from script: " +
                                std::string(words[0].substr(0, 64)));
        }
        if (!has_right_size(*command, words)) {
            return Reply::error("ERR Wrong number of args calling Redis command from script");
        }
        if (auto denied = deny(client_, *command, words, keys_.database())) {
            return std::move(*denied);
        }
        return command->run(context_, words);
    }

  private:
    Reply select(const std::vector<std::string_view>& words) {
        const auto number = words.size() == 2 ? parse_integer(words[1]) : std::nullopt;
        if (!number || *number < 0 || *number >= std::int64_t{databases}) {
            return Reply::error("ERR DB index is out of range");
        }
        keys_.select(static_cast<unsigned>(*number));
        return Reply::ok();
    }

    Keyspace& keys_;
    KeyContext context_;
    const rights::Token* const client_;
};

}  // namespace

void KeyCall::keep_texts() {
    if (kept.size() == words.size()) return;
    kept.clear();
    kept.reserve(words.size());  // so that texts stay where they are
    for (std::string_view& word : words) word = kept.emplace_back(word);
}

core::Outcome WatchStep::run(const service::StepContext& context) {
    Keyspace keyspace(context, door, database);
    for (const std::string& key : keys) seen.push_back(keyspace.watch(key));
    return {.kind = core::Outcome::Kind::released};
}

KeyCall& KeyStep::begin(unsigned database, const rights::TokenPtr& client) {
    database_ = database;
    client_ = client;
    is_exec_ = false;
    watches_.clear();
    calls_.resize(1);
    calls_[0].command = nullptr;
    calls_[0].script.reset();
    calls_[0].words.clear();
    calls_[0].kept.clear();
    return calls_[0];
}

void KeyStep::begin_exec(std::vector<KeyCall> calls,
                         std::vector<std::shared_ptr<WatchStep>> watches, unsigned database,
                         const rights::TokenPtr& client) {
    database_ = database;
    client_ = client;
    is_exec_ = true;
    calls_ = std::move(calls);
    watches_ = std::move(watches);
}

core::Outcome KeyStep::run(const service::StepContext& context) {
    now_ = context.table.now();
    Keyspace keys(context, door_, database_);
    reply_ = is_exec_ ? run_exec(keys) : run_call(keys, calls_[0]);
    return keys.rests_on();
}

Reply KeyStep::run_call(Keyspace& keys, const KeyCall& call) {
    KeyContext context{.keys = keys, .now = now_, .clock = door_.clock()};
    if (call.command != nullptr) return call.command->run(context, call.words);
    // EVAL script number key... argument...
    const Words rest = Words(call.words).subspan(3);
    const Words script_keys = rest.subspan(0, call.script_keys);
    const Words args = rest.subspan(call.script_keys);
    keys.show(rest);
    CommandsOfScript commands(keys, context, client_.get());
    return run_script(
        *call.script,
        {.keys = {script_keys.begin(), script_keys.end()}, .args = {args.begin(), args.end()}},
        commands);
}

// Nothing is done if a watched key is not as it was.
Reply KeyStep::run_exec(Keyspace& keys) {
    for (const auto& watch : watches_) {
        for (const Watched& watched : watch->seen) {
            keys.select(watched.database);
            if (keys.watch(watched.key) != watched) return {.kind = Reply::Kind::null_array};
            keys.show_watched(watched);
        }
    }
    std::vector<Reply> replies;
    for (const KeyCall& call : calls_) {
        keys.select(database_);
        replies.push_back(run_call(keys, call));
    }
    return Reply::array(std::move(replies));
}

void KeyStep::keep_texts() {
    for (KeyCall& call : calls_) call.keep_texts();
}

}  // namespace holdfast::doors::redis
