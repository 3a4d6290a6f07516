#pragma once

// LeaderFinder: the addresses of the node that leads, by the name that it advertises.
//
// The name is looked up when another node leads; again every second as long as that fails; and again
// every second while connections to the leader fail, because the name may mean another machine by now.
//
// Thread safety: trouble() from any thread, everything else on the loop's thread.
// Lifetime: the loop outlives it; destroyed while the loop does not run.

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/work_pool.h"
#include "net/loop/event_loop.h"
#include "net/loop/loop_timer.h"
#include "net/sockets/endpoint.h"

namespace holdfast::app {

class LeaderFinder {
  public:
    using Addresses = std::vector<net::Endpoint>;

    struct Parts {
        net::EventLoop& loop;
        // The addresses of HOST:PORT; at least one. Waits for the name server: it is called on a
        // thread of its own.
        std::function<base::Result<Addresses>(const std::string& peer)> look_up;
        // Whether connections to the addresses that were found last fail.
        std::function<bool()> fails;
        // The leader has other addresses than before.
        std::function<void(const Addresses&)> on_found;
        // Connections fail, and the leader has the same addresses as before.
        std::function<void()> on_found_again;
        std::chrono::milliseconds interval{1'000};
    };

    explicit LeaderFinder(Parts parts);

    // The node that leads has advertised this HOST:PORT. Forgets the one before.
    void find(const std::string& peer);
    // This node leads, or nobody does.
    void stop();

    // Why the leader has no address; empty: it has, or none is wanted.
    [[nodiscard]] std::string trouble() const;

  private:
    void look_after();
    void look_up();
    void on_answer(const base::Result<Addresses>& answer);
    void set_trouble(const std::string& trouble);

    const Parts parts_;
    net::LoopTimer timer_;
    std::string peer_;                // empty: none is wanted
    std::vector<std::string> found_;  // sorted; empty: nothing yet
    std::uint64_t search_ = 0;        // counts them, so that late answers are known
    bool is_searching_ = false;
    mutable std::mutex mutex_;
    std::string trouble_;  // under mutex_
    base::WorkPool threads_{1};
};

// The addresses of HOST:PORT, as a node advertises it. Waits for the name server.
[[nodiscard]] base::Result<LeaderFinder::Addresses> look_up_peer(const std::string& peer);
// HOST of HOST:PORT, without brackets.
[[nodiscard]] std::string host_of_peer(const std::string& peer);

}  // namespace holdfast::app
