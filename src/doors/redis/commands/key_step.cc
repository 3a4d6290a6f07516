#include "doors/redis/commands/key_step.h"

#include <utility>

#include "doors/redis/script/evaluator.h"
#include "doors/redis/script/value.h"

namespace holdfast::doors::redis {

namespace {

// What a step that another thread has not run yet is expected to answer with: some hundred of these
// are on the way at a time.
constexpr std::size_t reply_bytes_expected = 1024;

// Runs the command if the budget of the step and its commit have room for it.
Reply run_command(const KeyCommand& command, KeyContext context, Words words) {
    const std::size_t keys = count_keys(command, words);
    if (auto taken = context.budget.take_keys(keys); !taken) {
        return Reply::error(taken.error().message);
    }
    if (command.needs == rights::Right::lock) {
        if (auto refusal = context.keys.refuse_changes(keys)) return std::move(*refusal);
    }
    return command.run(context, words);
}

// What redis.call() in a script reaches: the commands on keys, and SELECT.
class CommandsOfScript final : public ScriptCommands {
  public:
    CommandsOfScript(const KeyContext& context, const rights::Token* client)
        : context_(context), client_(client) {}

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
        if (auto denied = deny(client_, *command, words, context_.keys.database())) {
            return std::move(*denied);
        }
        return run_command(*command, context_, words);
    }

  private:
    Reply select(const std::vector<std::string_view>& words) {
        const auto number = words.size() == 2 ? parse_integer(words[1]) : std::nullopt;
        if (!number || *number < 0 || *number >= std::int64_t{databases}) {
            return Reply::error("ERR DB index is out of range");
        }
        context_.keys.select(static_cast<unsigned>(*number));
        return Reply::ok();
    }

    const KeyContext context_;
    const rights::Token* const client_;
};

}  // namespace

void KeyCall::keep_texts() {
    if (kept.size() == words.size()) return;
    kept.clear();
    kept.reserve(words.size());  // so that texts stay where they are
    for (std::string_view& word : words) word = kept.emplace_back(word);
}

std::size_t KeyCall::kept_bytes() const {
    std::size_t bytes = 0;
    for (const std::string_view word : words) {
        bytes += sizeof(std::string_view) + sizeof(std::string) + word.size();
    }
    return bytes;
}

std::size_t KeyCall::count_keys() const {
    return command == nullptr ? script_keys : redis::count_keys(*command, words);
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
    reply_bytes_.store(reply_bytes_expected, std::memory_order_relaxed);
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
    reply_bytes_.store(reply_bytes_expected, std::memory_order_relaxed);
}

core::Outcome KeyStep::run(const service::StepContext& context) {
    Keyspace keys(context, door_, database_);
    StepBudget budget;
    const KeyContext key_context{
        .keys = keys, .now = context.table.now(), .clock = door_.clock(), .budget = budget};
    reply_ = is_exec_ ? run_exec(key_context) : run_call(key_context, calls_[0]);
    has_shortened_ = keys.has_shortened();
    reply_bytes_.store(cost_of(reply_), std::memory_order_relaxed);
    forget_calls();
    return keys.rests_on();
}

Reply KeyStep::run_call(const KeyContext& context, const KeyCall& call) {
    if (call.command != nullptr) return run_command(*call.command, context, call.words);
    // EVAL script number key... argument...
    const Words rest = Words(call.words).subspan(3);
    const Words script_keys = rest.subspan(0, call.script_keys);
    const Words args = rest.subspan(call.script_keys);
    context.keys.show(rest);
    CommandsOfScript commands(context, client_.get());
    return run_script(
        *call.script,
        {.keys = {script_keys.begin(), script_keys.end()}, .args = {args.begin(), args.end()}},
        commands, context.budget);
}

// Why the client may not run all that it has queued; no value if it may.
std::optional<Reply> KeyStep::deny_any_call() const {
    for (const KeyCall& call : calls_) {
        auto denied = call.command == nullptr
                          ? deny_everything(client_.get())
                          : deny(client_.get(), *call.command, call.words, database_);
        if (denied) return denied;
    }
    return std::nullopt;
}

// Nothing is done if the client may not run all of it, or if a watched key is not as it was.
Reply KeyStep::run_exec(const KeyContext& context) {
    if (auto denied = deny_any_call()) return std::move(*denied);
    Keyspace& keys = context.keys;
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
        replies.push_back(run_call(context, call));
        // What a script returns was charged before it was made.
        if (call.command == nullptr) continue;
        const bool is_look = call.command->needs == rights::Right::read;
        const auto taken = context.budget.take_bytes(cost_of(replies.back()));
        if (!taken && is_look) replies.back() = Reply::error(taken.error().message);
    }
    return Reply::array(std::move(replies));
}

// The step waits for its commit, and is kept for the next command: without the texts, scripts and
// watches of this one.
void KeyStep::forget_calls() {
    if (is_exec_) {
        calls_ = {};
        watches_ = {};
        return;
    }
    calls_[0].script.reset();
    calls_[0].words.clear();
    calls_[0].kept = {};
}

void KeyStep::keep_texts() {
    for (KeyCall& call : calls_) call.keep_texts();
}

}  // namespace holdfast::doors::redis
