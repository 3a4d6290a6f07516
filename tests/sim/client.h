#pragma once

// Client: somebody at the other end of the network.
//
// It sends calls, waits for replies as long as its patience lasts, and can be stopped in its tracks
// or die at any moment. What it does is its kind's affair.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sim/message.h"
#include "sim/stage.h"

namespace holdfast::sim {

class Client {
  public:
    Client(Stage& stage, std::size_t index, std::string name)
        : stage_(stage), index_(index), name_(std::move(name)) {}
    virtual ~Client() = default;
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // It is born, for the first time or again after a crash.
    void begin();
    // It stands still so long, and knows nothing of it.
    void pause(core::Duration length);
    // It dies, and is born again later, knowing nothing.
    void crash();
    // It finishes what it does and begins nothing new.
    void stop() { is_stopping_ = true; }

    void deliver(const Reply& reply);
    void reset(ConnectionId connection);

  protected:
    // Finds itself with nothing to do.
    virtual void act() = 0;
    virtual void on_reply(const Call& call, const Reply& reply) = 0;
    // No reply came, or the connection died. Nobody knows whether the call was heeded.
    virtual void on_lost(const Call& call) = 0;
    // A grant came that it no longer waits for.
    virtual void on_stray_grant(const Reply& reply) = 0;
    // Its memory is gone.
    virtual void on_death() = 0;
    // The connection it had is dead.
    virtual void on_reset() {}

    // Sends a request, on the connection it has or on one of its own.
    void send(const service::Request& request, core::Duration patience);
    // Drops the connection; the next call makes another one.
    void hang_up();
    // Unless it dies before; when it stands still, afterwards.
    void later(core::Duration delay, std::function<void()> action);
    // Acts after a while.
    void think();

    // A name nobody has used before.
    [[nodiscard]] std::string_view new_name();
    [[nodiscard]] bool is_stopping() const { return is_stopping_; }
    [[nodiscard]] Moment now() const { return stage_.world.now(); }
    Random& random() { return stage_.world.random(); }

    Stage& stage_;
    const std::size_t index_;
    const std::string name_;
    bool keeps_connection_ = true;

  private:
    void resume_with(std::uint64_t life, std::function<void()> action);
    void lose(std::uint64_t number);

    std::uint64_t life_ = 0;
    bool is_stopping_ = false;
    Moment paused_until_{Moment::min()};
    std::uint64_t calls_ = 0, names_ = 0;
    std::optional<ConnectionId> connection_;
    std::map<std::uint64_t, Call> pending_;
};

}  // namespace holdfast::sim
