#include "app/service_manager.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <filesystem>

namespace holdfast::app {
namespace {

using std::chrono::microseconds;
using ::testing::MatchesRegex;

// A service manager that listens on a socket of this name.
class Listener {
  public:
    explicit Listener(const std::string& name)
        : descriptor_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
        sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
        name.copy(address.sun_path, sizeof address.sun_path - 1);
        if (name.front() == '@') address.sun_path[0] = '\0';
        const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
        EXPECT_EQ(::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), length), 0);
    }
    ~Listener() { ::close(descriptor_); }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    // What was said next; empty if nothing was. A datagram is there when its send() returns.
    [[nodiscard]] std::string hear() const {
        std::array<char, 512> buffer;
        const auto count = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
        return count > 0 ? std::string(buffer.data(), static_cast<std::size_t>(count)) : "";
    }

  private:
    int descriptor_;
};

std::string unique_name() {
    return "holdfast_service_manager_test_" + std::to_string(::getpid());
}

TEST(ServiceManager, SaysWhatTheServerDoes) {
    const std::string path = ::testing::TempDir() + unique_name();
    std::filesystem::remove(path);
    const Listener listener(path);
    const ServiceManager manager({.notify_socket = path});
    manager.say_ready("http 127.0.0.1:8080");
    EXPECT_EQ(listener.hear(), "READY=1\nSTATUS=http 127.0.0.1:8080\n");
    manager.say_reloading();
    EXPECT_THAT(listener.hear(),
                MatchesRegex("RELOADING=1\nMONOTONIC_USEC=[0-9]+\nSTATUS=[a-z ]+\n"));
    manager.say_alive();
    EXPECT_EQ(listener.hear(), "WATCHDOG=1\n");
    manager.say_stopping();
    EXPECT_THAT(listener.hear(), MatchesRegex("STOPPING=1\nSTATUS=[a-z ]+\n"));
    EXPECT_EQ(listener.hear(), "");
    std::filesystem::remove(path);
}

TEST(ServiceManager, FindsAbstractSockets) {
    const Listener listener("@" + unique_name());
    ServiceManager({.notify_socket = "@" + unique_name()}).say_alive();
    EXPECT_EQ(listener.hear(), "WATCHDOG=1\n");
}

TEST(ServiceManager, AStatusIsOneLine) {
    const Listener listener("@" + unique_name());
    ServiceManager({.notify_socket = "@" + unique_name()}).say_ready("two\nSTOPPING=1");
    EXPECT_EQ(listener.hear(), "READY=1\nSTATUS=two STOPPING=1\n");
}

TEST(ServiceManager, SpeaksToNobodyWhereNobodyListens) {
    const Listener listener("@" + unique_name());
    ServiceManager(ServiceManager::Variables{}).say_ready("");
    ServiceManager({.notify_socket = "@" + unique_name() + "_nobody"}).say_ready("");
    const std::string too_long = "@" + unique_name() + std::string(200, 'x');
    ServiceManager({.notify_socket = too_long}).say_ready("");
    EXPECT_EQ(listener.hear(), "") << "nothing was sent to another socket";
    ServiceManager({.notify_socket = "@" + unique_name()}).say_ready("");
    EXPECT_EQ(listener.hear(), "READY=1\nSTATUS=\n") << "the socket would have shown it";
}

TEST(ServiceManager, IsAliveTwiceAsOftenAsTheWatchdogWants) {
    const auto interval = [](const std::string& wanted, const std::string& pid) {
        return ServiceManager({.notify_socket = "@" + unique_name(),
                               .watchdog_microseconds = wanted,
                               .watchdog_pid = pid})
            .alive_interval();
    };
    const std::string own = std::to_string(::getpid());
    EXPECT_EQ(interval("30000000", own), microseconds(15'000'000));
    EXPECT_EQ(interval("30000000", ""), microseconds(15'000'000));
    EXPECT_EQ(interval("30000000", std::to_string(::getpid() + 1)), std::nullopt);
    EXPECT_EQ(interval("", own), std::nullopt);
    EXPECT_EQ(interval("0", own), std::nullopt);
    EXPECT_EQ(interval("soon", own), std::nullopt);
    EXPECT_EQ(ServiceManager({.watchdog_microseconds = "30000000"}).alive_interval(), std::nullopt);
}

}  // namespace
}  // namespace holdfast::app
