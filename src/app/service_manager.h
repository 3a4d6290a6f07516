#pragma once

// ServiceManager: tells whoever started the server how it is doing, as systemd understands it.
//
// A service of `Type=notify` is handed the name of a datagram socket in NOTIFY_SOCKET, and says
// there in a few lines of text that it is ready, reads its files again, or stops. With a watchdog
// (WATCHDOG_USEC) it also says in time that it is alive, or is started anew. That is all there is
// to it, so no library is needed. Without the variables nothing is said.
//
// Nothing here waits or fails: a service manager that does not listen is not the server's trouble.
//
// Thread safety: all calls from one thread at a time.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::app {

class ServiceManager {
  public:
    // What the variables say; empty texts are those that are not set.
    struct Variables {
        std::string notify_socket;  // a path, or `@` and a name in the abstract namespace
        std::string watchdog_microseconds;
        std::string watchdog_pid;  // whose watchdog it is; empty: everybody's
    };
    [[nodiscard]] static Variables read_environment();

    explicit ServiceManager(const Variables& variables = read_environment());

    // It serves; `status` is a line for people: what and where.
    void say_ready(std::string_view status) const;
    // It reads its files again. say_ready() ends that.
    void say_reloading() const;
    void say_stopping() const;
    // It is alive. Worth something only if said from where the work is done.
    void say_alive() const;

    // How often say_alive() is due: twice as often as the watchdog wants it. None: there is none.
    [[nodiscard]] std::optional<std::chrono::microseconds> alive_interval() const {
        return alive_interval_;
    }

  private:
    void send(const std::string& message) const;

    std::string socket_name_;
    std::optional<std::chrono::microseconds> alive_interval_;
};

}  // namespace holdfast::app
