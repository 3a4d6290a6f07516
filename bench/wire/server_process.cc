#include "wire/server_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/check.h"
#include "wire/peer.h"
#include "wire/two_cores.h"

namespace holdfast::bench {

namespace {

constexpr auto start_patience = std::chrono::seconds(60);  // under valgrind it takes some
constexpr auto end_patience = std::chrono::seconds(10);

[[noreturn]] void become(const ServerCommand& command, int output) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (command.core) stay_on_cores(*command.core, command.second_core.value_or(*command.core));
    const int nowhere = ::open("/dev/null", O_RDWR);
    ::dup2(nowhere, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    std::vector<char*> words;
    for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execvp(words.front(), words.data());
    ::_exit(127);
}

// The port in the line `listening <door> <address>:<port>`, once it is there.
std::optional<std::uint16_t> find_port(std::string_view output, const std::string& door) {
    const auto at = output.find("listening " + door + " ");
    if (at == output.npos) return std::nullopt;
    const auto end = output.find('\n', at);
    if (end == output.npos) return std::nullopt;
    const auto line = output.substr(at, end - at);
    const auto digits = line.substr(line.rfind(':') + 1);
    std::uint16_t port = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), port);
    return port;
}

base::Result<std::uint16_t> await_port(int input, const std::string& door) {
    const auto end = std::chrono::steady_clock::now() + start_patience;
    std::string output;
    std::array<char, 1024> buffer;
    while (std::chrono::steady_clock::now() < end) {
        pollfd ready{.fd = input, .events = POLLIN, .revents = 0};
        if (::poll(&ready, 1, 100) <= 0) continue;
        const auto count = ::read(input, buffer.data(), buffer.size());
        if (count <= 0) return base::fail("ended before it could be reached");
        output.append(buffer.data(), static_cast<std::size_t>(count));
        if (const auto port = find_port(output, door)) return *port;
    }
    return base::fail("did not say where it listens");
}

base::Result<std::uint16_t> await_connection(std::uint16_t port) {
    const auto end = std::chrono::steady_clock::now() + start_patience;
    while (std::chrono::steady_clock::now() < end) {
        if (Peer::connect(port)) return port;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return base::fail("cannot be reached");
}

// The number in the line of a `status` file of /proc that begins so; 0 when there is none.
std::uint64_t read_status(const std::filesystem::path& path, std::string_view name) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(name)) return std::stoull(line.substr(name.size()));
    }
    return 0;
}

}  // namespace

std::uint16_t find_free_port() {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const place = reinterpret_cast<sockaddr*>(&address);
    CHECK(::bind(descriptor, place, size) == 0 && ::getsockname(descriptor, place, &size) == 0);
    ::close(descriptor);
    return ntohs(address.sin_port);
}

base::Result<ServerProcess> ServerProcess::start(const ServerCommand& command) {
    std::array<int, 2> pipe{};
    CHECK(::pipe2(pipe.data(), O_CLOEXEC) == 0);
    const pid_t pid = ::fork();
    CHECK(pid >= 0);
    if (pid == 0) become(command, pipe[1]);
    ::close(pipe[1]);
    ServerProcess server(pid);
    const auto port =
        command.port ? await_connection(*command.port) : await_port(pipe[0], command.door);
    ::close(pipe[0]);
    if (!port) return base::fail(command.words.front() + ": " + port.error().message);
    server.port_ = *port;
    return server;
}

std::chrono::nanoseconds ServerProcess::cpu_time() const {
    clockid_t clock{};
    timespec time{};
    CHECK(::clock_getcpuclockid(pid_, &clock) == 0 && ::clock_gettime(clock, &time) == 0);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::chrono::nanoseconds ServerProcess::first_thread_time() const {
    std::ifstream file(fmt::format("/proc/{0}/task/{0}/schedstat", pid_));
    std::int64_t nanoseconds = 0;
    file >> nanoseconds;
    return std::chrono::nanoseconds(nanoseconds);
}

std::uint64_t ServerProcess::sleeps() const {
    std::uint64_t sum = 0;
    const auto tasks = fmt::format("/proc/{}/task", pid_);
    for (const auto& task : std::filesystem::directory_iterator(tasks)) {
        sum += read_status(task.path() / "status", "voluntary_ctxt_switches:");
    }
    return sum;
}

std::uint64_t ServerProcess::resident_bytes() const {
    return read_status(fmt::format("/proc/{}/status", pid_), "VmRSS:") * 1024;
}

void ServerProcess::end() {
    const pid_t pid = std::exchange(pid_, -1);
    if (pid < 0) return;
    ::kill(pid, SIGTERM);
    const auto deadline = std::chrono::steady_clock::now() + end_patience;
    while (std::chrono::steady_clock::now() < deadline) {
        if (::waitpid(pid, nullptr, WNOHANG) != 0) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
}

}  // namespace holdfast::bench
