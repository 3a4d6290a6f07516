#pragma once

// KeyStep: commands on keys as one step of the engine. A command alone, a script, or everything
// between MULTI and EXEC. Each step has one budget.

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doors/redis/commands/key_commands.h"
#include "doors/redis/redis_door.h"
#include "doors/redis/script/tree.h"
#include "service/request.h"

namespace holdfast::doors::redis {

// One command of a step: on keys, or a script.
struct KeyCall {
    const KeyCommand* command = nullptr;
    std::shared_ptr<const Script> script;  // if there is no command
    std::size_t script_keys = 0;           // so many of the words behind the number are keys
    std::vector<std::string_view> words;
    std::vector<std::string> kept;  // that the words point into, after keep_texts()

    void keep_texts();
    // How much memory the words take when they are kept.
    [[nodiscard]] std::size_t kept_bytes() const;
    // How many keys it names.
    [[nodiscard]] std::size_t count_keys() const;
};

// What WATCH has seen. EXEC looks at it in a later step.
struct WatchStep final : service::Step {
    WatchStep(const RedisDoor& its_door, unsigned its_database)
        : door(its_door), database(its_database) {}

    core::Outcome run(const service::StepContext& context) override;
    void keep_texts() override {}

    const RedisDoor& door;
    const unsigned database;
    std::vector<std::string> keys;
    std::vector<Watched> seen;
};

class KeyStep final : public service::Step {
  public:
    // The door outlives the step.
    explicit KeyStep(const RedisDoor& door) : door_(door) {}

    // Prepares a step of one command, which the caller fills in. The words may be views until the
    // step was run. The door has asked whether the client may run a command; what a script does is asked
    // in the step.
    KeyCall& begin(unsigned database, const rights::TokenPtr& client);
    // Prepares the step of an EXEC. Whether the client may run the commands is asked once more: it may
    // have lost rights since it has queued them.
    void begin_exec(std::vector<KeyCall> calls, std::vector<std::shared_ptr<WatchStep>> watches,
                    unsigned database, const rights::TokenPtr& client);

    core::Outcome run(const service::StepContext& context) override;
    void keep_texts() override;

    // The reply, once, after the step was run.
    [[nodiscard]] Reply take_reply() { return std::exchange(reply_, {}); }
    // Whether a time to live was shortened. REQUIRES: as take_reply().
    [[nodiscard]] bool has_shortened() const { return has_shortened_; }
    // How much memory the reply takes. Before the step was run, what it may take. From any thread.
    [[nodiscard]] std::size_t reply_bytes() const {
        return reply_bytes_.load(std::memory_order_relaxed);
    }

  private:
    [[nodiscard]] Reply run_call(const KeyContext& context, const KeyCall& call);
    [[nodiscard]] Reply run_exec(const KeyContext& context);
    [[nodiscard]] std::optional<Reply> deny_any_call() const;
    void forget_calls();

    const RedisDoor& door_;
    unsigned database_ = 0;
    rights::TokenPtr client_;  // null: it has no limits
    bool is_exec_ = false;
    std::vector<KeyCall> calls_;
    std::vector<std::shared_ptr<WatchStep>> watches_;
    Reply reply_;
    bool has_shortened_ = false;
    std::atomic<std::size_t> reply_bytes_ = 0;
};

}  // namespace holdfast::doors::redis
