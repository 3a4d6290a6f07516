#pragma once

// Client: a program at the other end of the network.
//
// It sends calls and waits for replies for a limited time. It can be paused, and it can die, at any
// moment. The kinds of clients (holder.h, crowd.h) decide what it sends.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/values/ids.h"
#include "sim/checker/ledger.h"
#include "sim/message.h"
#include "sim/network.h"
#include "sim/settings.h"
#include "sim/world.h"

namespace holdfast::sim {

// FencedResource: something outside that a lock protects, a file say, with a number in it.
//
// It refuses a fencing number that is lower than the largest it has seen. So a holder that has lost
// its lease without noticing can do no harm. Every holder adds one to the number: it reads, and
// later writes the new value. If two do so at once, one of the additions is lost.
class FencedResource {
  public:
    // The number, or nothing for somebody who is too late.
    std::optional<std::uint64_t> read(core::Fence fence) {
        if (fence < largest_) return std::nullopt;
        largest_ = fence;
        return value_;
    }

    // False for somebody who is too late.
    bool write(core::Fence fence, std::uint64_t value) {
        if (fence < largest_) return false;
        largest_ = fence;
        if (value != value_ + 1) ++lost_updates_;
        value_ = value;
        return true;
    }

    [[nodiscard]] std::uint64_t lost_updates() const { return lost_updates_; }

  private:
    core::Fence largest_{};
    std::uint64_t value_ = 0;
    std::uint64_t lost_updates_ = 0;
};

// Stage: what clients find around them. All of it outlives them.
struct Stage {
    World& world;
    const Settings& settings;
    Network& network;
    Ledger& ledger;
    std::map<std::string, FencedResource>& resources;  // by the scope that protects them
};

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
