// What a Redis connection asks of the service.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log/log.h"
#include "doors/redis/redis_protocol.h"
#include "rights/asker.h"
#include "service/doors.h"

namespace holdfast::doors::redis {

namespace {

// How many commands MULTI may queue, how many keys they may name, and how much memory they and their
// scripts may take. Their changes are one commit.
constexpr std::size_t queued_max = keys_max;
constexpr std::size_t queued_keys_max = 1024;
constexpr std::size_t queued_bytes_max = std::size_t{512} * 1024;

// What an unknown script is answered with: some clients compare the whole text.
constexpr std::string_view no_script = "NOSCRIPT No matching script. Please use EVAL.";

}  // namespace

// The step for the next command: the spare one, unless an answer still needs it.
std::shared_ptr<KeyStep> RedisProtocol::take_step() {
    if (!spare_ || spare_.use_count() > 1) spare_ = std::make_shared<KeyStep>(door_);
    return spare_;
}

// The command on keys; no value if it is wrong, which is answered then.
std::optional<KeyCall> RedisProtocol::read_key_call(Words words) {
    const KeyCommand* const command = find_key_command(words[0]);
    if (command != nullptr && has_right_size(*command, words)) {
        if (const auto denied = deny(state_.client.get(), *command, words, state_.database)) {
            refuse(*denied);
            return std::nullopt;
        }
        return KeyCall{.command = command, .words = {words.begin(), words.end()}};
    }
    refuse(command == nullptr ? unknown_command(words) : wrong_arguments(command->name));
    return std::nullopt;
}

// EVAL text number key... argument..., or the same with the SHA-1 of a text that was loaded.
std::optional<KeyCall> RedisProtocol::read_script_call(Words words) {
    const auto refuse = [this](const Reply& reply) {
        this->refuse(reply);
        return std::nullopt;
    };
    if (auto denied = deny_everything(state_.client.get())) return refuse(*denied);
    if (words.size() < 3) return refuse(wrong_arguments(to_lower(words[0])));
    const auto keys = parse_integer(words[2]);
    if (!keys) return refuse(not_an_integer());
    if (*keys < 0) return refuse(Reply::error("ERR Number of keys can't be negative"));
    if (*keys > static_cast<std::int64_t>(words.size()) - 3) {
        return refuse(Reply::error("ERR Number of keys can't be greater than number of args"));
    }
    if (*keys > static_cast<std::int64_t>(keys_max)) {
        return refuse(
            Reply::error(fmt::format("ERR too many keys: at most {} in one script", keys_max)));
    }
    KeyCall call{.script_keys = static_cast<std::size_t>(*keys),
                 .words = {words.begin(), words.end()}};
    if (is_word(words[0], "evalsha")) {
        call.script = door_.scripts().find(words[1]);
        if (!call.script) return refuse(Reply::error(no_script));
        return call;
    }
    auto loaded = door_.scripts().load(words[1]);
    if (!loaded) {
        return refuse(Reply::error("ERR Error compiling script: " + loaded.error().message));
    }
    call.script = std::move(loaded->script);
    return call;
}

// Answers a command that is wrong. It may not be part of a transaction.
void RedisProtocol::refuse(const Reply& reply) {
    if (queued_) queued_->is_broken = true;
    answer(reply);
}

void RedisProtocol::queue_or_ask(KeyCall call) {
    if (!queued_) {
        auto step = take_step();
        step->begin(state_.database, state_.client) = std::move(call);
        return ask(std::move(step));
    }
    if (const auto fault = add_to_queue(std::move(call))) return refuse(Reply::error(*fault));
    answer(Reply::status("QUEUED"));
}

// Why the command cannot be queued; no value if it is.
std::optional<std::string> RedisProtocol::add_to_queue(KeyCall call) {
    std::vector<KeyCall>& calls = queued_->calls;
    const bool is_script = call.command == nullptr;
    if (is_script) call.words[1] = {};  // its text or SHA-1: the script is known
    std::size_t bytes = queued_->bytes + call.kept_bytes();
    const bool is_new_script =
        is_script && std::none_of(calls.begin(), calls.end(), [&](const KeyCall& other) {
            return other.script == call.script;
        });
    if (is_new_script) bytes += call.script->bytes;
    const std::size_t keys = queued_->keys + call.count_keys();
    if (calls.size() >= queued_max) {
        return fmt::format("ERR more than {} commands in MULTI", queued_max);
    }
    if (keys > queued_keys_max)
        return fmt::format("ERR more than {} keys in MULTI", queued_keys_max);
    if (bytes > queued_bytes_max) {
        return fmt::format("ERR the commands and scripts in MULTI take more than {} bytes",
                           queued_bytes_max);
    }
    call.keep_texts();
    calls.push_back(std::move(call));
    queued_->bytes = bytes;
    queued_->keys = keys;
    return std::nullopt;
}

// Who asks.
std::string_view RedisProtocol::by() {
    if (by_.empty()) {
        rights::set_asker(by_, state_.client.get(), rights::Door::redis,
                          net::ClientHost(channel_).text());
    }
    return by_;
}

void RedisProtocol::ask(std::shared_ptr<KeyStep> step) {
    if (const service::Response* const response =
            port_.submit(service::RunStep{.step = step}, by())) {
        const Reply failure = response->failure.empty()
                                  ? Reply{}
                                  : Reply::error(fmt::format("ERR {}", response->failure));
        return answer(response->failure.empty() ? take_reply(*step) : failure);
    }
    Owed& owed = owed_.emplace_back(*this);
    owed.step = std::move(step);
    owed.promise = port_.await(service::AnswerPointer(&owed));
    count_bytes(owed, owed.step->reply_bytes());
}

// The reply of a step that was run. The log says once for each connection that a time was shortened.
Reply RedisProtocol::take_reply(KeyStep& step) {
    if (step.has_shortened() && !std::exchange(has_told_of_shortening_, true)) {
        const auto longest = std::chrono::floor<std::chrono::seconds>(door_.options().ttl_max);
        base::log(base::LogLevel::info, "a client asked for a longer lease than the longest",
                  {{"door", "redis"}, {"by", by()}, {"granted_s", longest.count()}});
    }
    return step.take_reply();
}

// HOLDFAST.ACQUIRE key owner ttl-ms wait-ms: as SET NX PX, but waits in turn.
void RedisProtocol::acquire(Words words) {
    if (words.size() != 5) return answer(wrong_arguments("holdfast.acquire"));
    const auto ttl_ms = parse_integer(words[3]), wait_ms = parse_integer(words[4]);
    if (!ttl_ms || !wait_ms) return answer(not_an_integer());
    constexpr std::int64_t ms_max = std::int64_t{1} << 40;
    if (*ttl_ms <= 0 || *ttl_ms > ms_max) {
        return answer(Reply::error("ERR invalid expire time in 'holdfast.acquire' command"));
    }
    if (*wait_ms < 0 || *wait_ms > ms_max) {
        return answer(Reply::error("ERR invalid wait in 'holdfast.acquire' command"));
    }
    const rights::Token* const client = state_.client.get();
    if (const auto denied = deny(client, rights::Right::lock, words[1], state_.database)) {
        return answer(*denied);
    }
    const std::string name = name_of(words[1], state_.database);
    const bool may_wait = !channel_.draining() && !is_ended_;
    const std::chrono::milliseconds wait{may_wait ? *wait_ms : 0};
    const core::AcquireRequest request{.scope = core::Scope::named(name),
                                       .owner = {.door = service::redis_door, .name = words[2]},
                                       .ttl = std::chrono::milliseconds{*ttl_ms},
                                       .wait = wait,
                                       .is_only_kind = true};
    const service::Response* const response = port_.submit(
        request, by(), rights::allowed_to(client, rights::Right::lock, rights::Door::redis));
    Owed& owed = owed_.emplace_back(*this);
    owed.is_wait = true;
    if (response != nullptr) {
        append(owed.text, owed, *response);
        return send_answered();
    }
    owed.promise = port_.await(service::AnswerPointer(&owed));
    blocked_by_ = BlockedBy::wait;
}

void RedisProtocol::watch(Words words) {
    if (words.size() < 2) return answer(wrong_arguments("watch"));
    if (words.size() - 1 + watches_.size() > keys_max) {
        return answer(Reply::error(fmt::format("ERR more than {} keys are watched", keys_max)));
    }
    for (const std::string_view key : words.subspan(1)) {
        const rights::Token* const client = state_.client.get();
        if (const auto denied = deny(client, rights::Right::read, key, state_.database)) {
            return answer(*denied);
        }
    }
    auto step = std::make_shared<WatchStep>(door_, state_.database);
    for (const std::string_view key : words.subspan(1)) step->keys.emplace_back(key);
    watches_.push_back(step);
    if (const service::Response* const response = port_.submit(service::RunStep{.step = step})) {
        if (response->failure.empty()) return answer(Reply::ok());
        return answer(Reply::error(fmt::format("ERR {}", response->failure)));
    }
    Owed& owed = owed_.emplace_back(*this);
    owed.promise = port_.await(service::AnswerPointer(&owed));
}

// MULTI, EXEC, DISCARD, UNWATCH; and what may not stand between MULTI and EXEC. False: something
// else.
bool RedisProtocol::handle_transaction(std::optional<OwnWord> own, Words words) {
    if (own == OwnWord::multi) {
        if (queued_) {
            answer(Reply::error("ERR MULTI calls can not be nested"));
        } else if (const auto denied = deny_everything(state_.client.get())) {
            answer(*denied);
        } else {
            queued_.emplace();
            answer(Reply::ok());
        }
    } else if (own == OwnWord::exec) {
        exec();
    } else if (own == OwnWord::discard) {
        const bool is_open = queued_.has_value();
        queued_.reset();
        watches_.clear();
        answer(is_open ? Reply::ok() : Reply::error("ERR DISCARD without MULTI"));
    } else if (own == OwnWord::unwatch && !queued_) {
        watches_.clear();
        answer(Reply::ok());
    } else if (own == OwnWord::watch && queued_) {
        answer(Reply::error("ERR WATCH inside MULTI is not allowed"));
    } else if (is_word(words[0], "quit") && queued_) {
        answer(Reply::ok(), true);
    } else {
        return false;
    }
    return true;
}

void RedisProtocol::exec() {
    if (!queued_) return answer(Reply::error("ERR EXEC without MULTI"));
    QueuedCommands queued = std::move(*queued_);
    queued_.reset();
    auto watches = std::exchange(watches_, {});
    if (queued.is_broken) {
        return answer(Reply::error("EXECABORT Transaction discarded because of previous errors."));
    }
    auto step = take_step();
    step->begin_exec(std::move(queued.calls), std::move(watches), state_.database, state_.client);
    ask(std::move(step));
}

}  // namespace holdfast::doors::redis
