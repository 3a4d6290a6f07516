#pragma once

// Listener: accepts connections on one address and hands them on.
//
// A lack of descriptors or memory does not stop it: it rests, and tries again. It reports the fault at
// once, and then at most every ten seconds, with how often it has tried in vain.
//
// A Unix socket is made for its owner and group (0660), replaces what a server that was killed has
// left behind, and is removed at the end. If a server answers there already, open() refuses.
//
// Thread safety: open() and endpoint() from anywhere, the rest on the loop's thread.
// Lifetime: destroyed after stop() and a later turn, or after the loop has stopped.

#include <functional>
#include <memory>

#include "base/log/occasions.h"
#include "base/result.h"
#include "net/loop/loop_timer.h"
#include "net/sockets/endpoint.h"
#include "net/sockets/transport.h"

namespace holdfast::net {

class Listener final : private Pollable {
  public:
    using OnAccept = std::function<void(Transport)>;
    using OnError = std::function<void(const base::Error&)>;

    // Binds and listens, so that clients may connect from now on; they are accepted after start().
    [[nodiscard]] static base::Result<std::unique_ptr<Listener>> open(EventLoop& loop,
                                                                      const Endpoint& endpoint);
    ~Listener();

    // Where it listens; with the port that was picked if 0 was asked for.
    [[nodiscard]] const Endpoint& endpoint() const { return endpoint_; }

    void start(OnAccept on_accept, OnError on_error);
    void stop();

  private:
    Listener(EventLoop& loop, int descriptor, Endpoint endpoint);

    static base::Result<std::unique_ptr<Listener>> open_tcp(EventLoop& loop,
                                                            const Endpoint& endpoint);
    static base::Result<std::unique_ptr<Listener>> open_unix(EventLoop& loop,
                                                             const Endpoint& endpoint);
    void on_ready(std::uint32_t events) override;
    void rest(int error_number);
    void watch();

    EventLoop& loop_;
    int descriptor_;
    Endpoint endpoint_;
    std::uint64_t socket_file_ = 0;  // the inode of a Unix socket: only our own is removed
    bool watched_ = false;
    OnAccept on_accept_;
    OnError on_error_;
    LoopTimer retry_;
    base::Occasions faults_;
};

}  // namespace holdfast::net
