#pragma once

// WaitNotice: tells the person at the terminal why a command waits for its lock: who holds the lock,
// which place in the queue the command has, how long it will still wait; or that no server answers.
//
// It says nothing in the first second, and nothing twice. Where the standard error is no terminal, it
// says nothing at all.

#include <chrono>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "cli/screen/lock_rows.h"
#include "cli/server.h"

namespace holdfast::cli {

struct AwaitedLock {
    ServerOptions server;
    std::vector<std::string> locks;  // as the person wrote them
    std::string owner;               // who waits
    std::chrono::milliseconds wait{0};
};

// What there is to say of one of the locks, called `name`. `waited` so far. Empty: it is not in the way.
[[nodiscard]] std::string describe_wait(const LockRow& lock, const std::string& name,
                                        const AwaitedLock& awaited,
                                        std::chrono::milliseconds waited);

class WaitNotice {
  public:
    // Watches from now on, in a thread of its own, until it is destroyed.
    explicit WaitNotice(AwaitedLock awaited);

  private:
    void watch(const std::stop_token& stop) const;
    [[nodiscard]] std::string look(Server& server, std::chrono::milliseconds waited) const;

    const AwaitedLock awaited_;
    std::jthread thread_;
};

}  // namespace holdfast::cli
