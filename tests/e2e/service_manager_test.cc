// The real program under a service manager that listens to it, as systemd does.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>

#include "server_process.h"

namespace holdfast::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Hears what a service says. Every wait fails the test after a minute.
class Manager {
  public:
    Manager() : descriptor_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        const timeval patience{.tv_sec = 60, .tv_usec = 0};
        ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
        name_.copy(address.sun_path, sizeof address.sun_path - 1);
        address.sun_path[0] = '\0';
        const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
        EXPECT_EQ(::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), length), 0);
    }
    ~Manager() { ::close(descriptor_); }
    Manager(const Manager&) = delete;
    Manager& operator=(const Manager&) = delete;

    [[nodiscard]] const std::string& name() const { return name_; }

    [[nodiscard]] std::string hear() const {
        std::array<char, 1024> buffer;
        const auto count = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
        EXPECT_GT(count, 0) << "nothing was said";
        return count > 0 ? std::string(buffer.data(), static_cast<std::size_t>(count)) : "";
    }

    // The next that is no sign of life.
    [[nodiscard]] std::string hear_news() const {
        std::string said = hear();
        while (said == "WATCHDOG=1\n") said = hear();
        return said;
    }

  private:
    const std::string name_ = "@holdfast_e2e_" + std::to_string(::getpid());
    const int descriptor_;
};

TEST(ServiceManager, IsToldHowTheServerIsDoing) {
    const Manager manager;
    Command command = serve_command({"--http", "127.0.0.1:0"});
    command.environment["NOTIFY_SOCKET"] = manager.name();
    ServerProcess server(command);
    EXPECT_EQ(manager.hear().substr(0, 8 + 7 + 7), "READY=1\nSTATUS=serving");
    server.process.signal(SIGHUP);
    EXPECT_THAT(manager.hear(), StartsWith("RELOADING=1\nMONOTONIC_USEC="));
    EXPECT_THAT(manager.hear(), HasSubstr("http=" + server.address));
    server.process.signal(SIGTERM);
    EXPECT_THAT(manager.hear(), StartsWith("STOPPING=1\n"));
    EXPECT_EQ(server.process.wait(), 0);
}

TEST(ServiceManager, HearsSignsOfLifeAsLongAsTheMainLoopGoesRound) {
    const Manager manager;
    Command command = serve_command({"--http", "127.0.0.1:0", "--threads", "2"});
    command.environment["NOTIFY_SOCKET"] = manager.name();
    command.environment["WATCHDOG_USEC"] = "20000";
    ServerProcess server(command);
    for (int times = 0; times < 5; ++times) {
        std::string said = manager.hear();
        while (said != "WATCHDOG=1\n") {
            EXPECT_THAT(said, StartsWith("READY=1\n"));
            said = manager.hear();
        }
    }
    server.process.signal(SIGTERM);
    EXPECT_THAT(manager.hear_news(), StartsWith("STOPPING=1\n"));
    EXPECT_EQ(server.process.wait(), 0);
}

}  // namespace
}  // namespace holdfast::e2e
