#pragma once

// RedisProtocol: one connection of a Redis client on the common engine.
//
// How to think of it: commands are handled strictly one after another. A command on keys becomes a
// step of the engine and goes to the service at once, so that many commands share a commit or a
// hand-over to another thread; their answers line up in `owed_`. HOLDFAST.ACQUIRE, which may wait
// for a lock, holds back all commands after it until it is answered, and so does a wrong password.
//
// Locks do not belong to the connection: as in Redis, they stay when it closes. Only a client that
// waits for a lock leaves the queue with its connection.
//
// What MULTI queues is kept here until EXEC, which makes one step of all of it. WATCH is a step that
// remembers what it has seen; the step of EXEC looks whether that has changed.
//
// Thread safety: only on the connection's loop.

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doors/redis/commands/connection_commands.h"
#include "doors/redis/commands/key_step.h"
#include "doors/redis/redis_door.h"
#include "doors/redis/resp/resp_reader.h"
#include "net/loop/channel.h"
#include "net/loop/event_loop.h"
#include "net/loop/loop_timer.h"
#include "service/ports/port.h"

namespace holdfast::doors::redis {

// The commands that are in neither of the tables of commands/: what a connection does with other commands,
// and what may wait.
enum class OwnWord : std::uint8_t { multi, exec, discard, watch, unwatch, eval, evalsha, acquire };
struct OwnWordName {
    std::string_view name;  // in lower case
    OwnWord word;
};
[[nodiscard]] std::span<const OwnWordName> all_own_words();

// The surroundings of a connection. All of it outlives the connection.
struct RedisContext {
    RedisDoor& door;
    service::Port& port;
    net::EventLoop& loop;
};

// The commands since MULTI. What they keep has a limit, and so have the keys that they name.
struct QueuedCommands {
    std::vector<KeyCall> calls;
    std::size_t bytes = 0;
    std::size_t keys = 0;
    bool is_broken = false;  // a command was wrong
};

class RedisProtocol final : public net::Protocol {
  public:
    // The channel outlives the protocol.
    RedisProtocol(net::Channel& channel, const RedisContext& context);

    std::size_t on_input(std::string_view input) override;
    void on_end_of_input() override;
    void on_drain() override;
    void on_read_timeout() override;
    void on_closed() override;
    bool idle() const override { return owed_.empty() && !refusal_; }

  private:
    enum class BlockedBy : std::uint8_t { nothing, wait, refusal };

    // An answer that is not sent yet. The service borrows it.
    struct Owed final : service::Answer {
        explicit Owed(RedisProtocol& protocol)
            : owner(protocol), version(protocol.state_.version) {}
        void take(const service::Response& response) override { owner.on_late(*this, response); }
        void drop() override {}

        RedisProtocol& owner;
        const RespVersion version;      // that was spoken when the command came
        std::shared_ptr<KeyStep> step;  // whose reply is the answer
        bool is_wait = false;           // of HOLDFAST.ACQUIRE; if there is neither: of WATCH
        service::PromiseId promise{};   // while there is no text
        std::string text;               // empty: not known yet
        std::size_t bytes = 0;          // that it is counted with
        bool is_last = false;           // the connection closes after it
    };

    // redis_protocol.cc
    [[nodiscard]] bool is_held_up() const;
    void handle(Words words);
    void answer(const Reply& reply, bool is_last = false);
    void answer_later(ConnectionAnswer answer);
    void append(std::string& out, const Owed& owed, const service::Response& response);
    void on_late(Owed& owed, const service::Response& response);
    void on_timer();
    void call_timer(std::chrono::milliseconds delay);
    void end_wait(std::string_view error);
    void send_answered();
    void count_bytes(Owed& owed, std::size_t bytes);
    void go_on();

    // redis_requests.cc: what is asked of the service
    [[nodiscard]] std::optional<KeyCall> read_key_call(Words words);
    [[nodiscard]] std::optional<KeyCall> read_script_call(Words words);
    void refuse(const Reply& reply);
    void queue_or_ask(KeyCall call);
    [[nodiscard]] std::optional<std::string> add_to_queue(KeyCall call);
    [[nodiscard]] std::string_view by();
    void ask(std::shared_ptr<KeyStep> step);
    [[nodiscard]] Reply take_reply(KeyStep& step);
    void acquire(Words words);
    void watch(Words words);
    bool handle_transaction(std::optional<OwnWord> own, Words words);
    void exec();
    [[nodiscard]] std::shared_ptr<KeyStep> take_step();

    net::Channel& channel_;
    RedisDoor& door_;
    service::Port& port_;
    net::EventLoop& loop_;

    ConnectionState state_;
    std::string by_;       // by(), once it was called for this client
    RespCommand command_;  // that is being read
    // Not admitted: the end of the time in which the peer may show the password. Refused: the time
    // at which the peer is told.
    std::unique_ptr<net::LoopTimer> timer_;
    std::optional<Reply> refusal_;

    std::optional<QueuedCommands> queued_;  // since MULTI
    std::vector<std::shared_ptr<WatchStep>> watches_;

    std::shared_ptr<KeyStep> spare_;  // used again when nobody else has it any more
    std::deque<Owed> owed_;           // in the order of their commands
    std::size_t waiting_bytes_ = 0;   // of the answers in owed_
    BlockedBy blocked_by_ = BlockedBy::nothing;
    bool has_told_of_shortening_ = false;
    bool is_over_ = false;   // the input that follows is ignored
    bool is_ended_ = false;  // the peer sends no more
};

}  // namespace holdfast::doors::redis
