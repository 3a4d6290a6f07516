// bench_files: the file door against nginx, for reads, and against a bare loop that writes, syncs
// and renames, with a hash and without one, for writes.
//
// Both servers run on one core, the clients on another, as many at a time as the loop has threads.
// They take turns, round by round; each figure is the median of the rounds, and the ratio that of
// the ratios within a round. Prints a Markdown table.

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/crypto.h"
#include "options/options.h"
#include "wire/round.h"
#include "wire/server_process.h"
#include "wire/two_cores.h"

namespace holdfast::bench {
namespace {

struct Options {
    std::string holdfast = "build/bench/holdfast";
    std::string folder = "build/bench";  // on the disk that is measured
    std::vector<std::string> serve_arguments;
    int rounds = 5;
    double seconds = 2;
    std::size_t concurrency = 16;
};

constexpr const char* secret = "bench-bench-bench-bench";

[[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "bench_files: %s\n", why.c_str());
    std::exit(1);
}

// A connection that asks and waits for the answer.
class Asker {
  public:
    explicit Asker(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int on = 1;
        ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
            give_up("cannot connect");
        }
    }
    Asker(const Asker&) = delete;
    Asker& operator=(const Asker&) = delete;
    ~Asker() { ::close(socket_); }

    // The header of the answer, and as much of the body as came with it; the rest is read past.
    std::string ask(std::string_view request) {
        while (!request.empty()) {
            const ssize_t count = ::send(socket_, request.data(), request.size(), MSG_NOSIGNAL);
            if (count <= 0) give_up("a server takes no more");
            request.remove_prefix(static_cast<std::size_t>(count));
        }
        std::string answer;
        std::size_t end = std::string::npos;
        while (end == std::string::npos) {
            answer.append(receive());
            end = answer.find("\r\n\r\n");
        }
        const std::size_t at = answer.find("Content-Length: ");
        if (at > end) give_up("an answer has no length: " + answer);
        std::size_t left = std::stoul(answer.substr(at + 16)) + end + 4 - answer.size();
        while (left > 0) left -= receive().size();
        return answer;
    }

  private:
    std::string_view receive() {
        const ssize_t count = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
        if (count <= 0) give_up("a server has closed its connection");
        return {buffer_.data(), static_cast<std::size_t>(count)};
    }

    const int socket_;
    std::vector<char> buffer_ = std::vector<char>(1 << 20);
};

// Does `once` over and over on so many threads. How often a second it was done.
double measure(const Options& options,
               const std::function<std::function<void()>(std::size_t)>& make_worker) {
    std::atomic<bool> is_over = false;
    std::atomic<std::uint64_t> count = 0;
    std::vector<std::thread> threads;
    for (std::size_t id = 0; id < options.concurrency; ++id) {
        threads.emplace_back([&, id] {
            const std::function<void()> once = make_worker(id);
            while (!is_over) {
                once();
                count.fetch_add(1, std::memory_order_relaxed);
            }
        });
    }
    const std::chrono::duration<double> warm_up{options.seconds / 5}, duration{options.seconds};
    std::this_thread::sleep_for(warm_up);
    const std::uint64_t before = count;
    const auto start = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(duration);
    const std::uint64_t after = count;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    is_over = true;
    for (std::thread& thread : threads) thread.join();
    return static_cast<double>(after - before) / taken.count();
}

double measure_requests(const Options& options, std::uint16_t port,
                        const std::function<std::string(std::size_t)>& request_of) {
    return measure(options, [&](std::size_t id) -> std::function<void()> {
        auto asker = std::make_shared<Asker>(port);
        return [asker, request = request_of(id)] {
            if (!asker->ask(request).starts_with("HTTP/1.1 20")) give_up("a request was refused");
        };
    });
}

// What a careful program does to replace a file, and no more; or with the SHA-256 of the content,
// which the door needs for its ETag.
enum class LoopHash { none, sha256 };
double measure_loop(const Options& options, const std::string& folder, const std::string& content,
                    LoopHash hash) {
    std::filesystem::create_directories(folder);
    return measure(options, [&](std::size_t id) -> std::function<void()> {
        return [path = folder + "/" + std::to_string(id), folder, &content, hash] {
            if (hash == LoopHash::sha256 && base::sha256_hex(content).empty()) give_up("no hash");
            const std::string temporary = path + ".tmp";
            const int file =
                ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
            const auto size = static_cast<ssize_t>(content.size());
            const bool is_written = ::write(file, content.data(), content.size()) == size &&
                                    ::fsync(file) == 0 &&
                                    ::rename(temporary.c_str(), path.c_str()) == 0;
            ::close(file);
            const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            if (!is_written || ::fsync(directory) != 0) give_up("cannot write in " + folder);
            ::close(directory);
        };
    });
}

std::string nginx_configuration(const std::string& folder, const std::string& root,
                                std::uint16_t port) {
    return fmt::format(
        "daemon off; worker_processes 1; pid {0}/nginx.pid; error_log {0}/nginx.log;\n"
        "events {{ worker_connections 1024; }}\n"
        "http {{ access_log off; keepalive_requests 1000000000; sendfile on; etag on;\n"
        "server {{ listen 127.0.0.1:{2}; root {1}; }} }}\n",
        folder, root, port);
}

class FilesBench {
  public:
    explicit FilesBench(Options options)
        : options_(std::move(options)),
          folder_(std::filesystem::absolute(options_.folder + "/files")),
          cores_(find_two_cores()) {
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
        std::ofstream(folder_ + "/token") << secret << "\n";
    }
    ~FilesBench() { std::filesystem::remove_all(folder_); }
    FilesBench(const FilesBench&) = delete;
    FilesBench& operator=(const FilesBench&) = delete;

    void run() {
        const ServerProcess holdfast = start_holdfast();
        const std::uint16_t nginx_port = find_free_port();
        const ServerProcess nginx = start_nginx(nginx_port);
        if (cores_) stay_on_core(cores_->client);
        log_in(holdfast.port());
        fmt::print("{} at a time, {} rounds.\n\n", options_.concurrency, options_.rounds);
        fmt::print("| request | bytes | beside it | its 1/s | holdfast 1/s | ratio |\n");
        fmt::print("|---|--:|---|--:|--:|--:|\n");
        for (const std::size_t bytes : {std::size_t{1024}, std::size_t{1024} * 1024}) {
            const std::string content(bytes, 'x');
            std::vector<double> loop, hashing_loop, puts, static_gets, gets;
            for (int round = 0; round < options_.rounds; ++round) {
                const std::string loop_folder = folder_ + "/loop";
                loop.push_back(measure_loop(options_, loop_folder, content, LoopHash::none));
                hashing_loop.push_back(
                    measure_loop(options_, loop_folder, content, LoopHash::sha256));
                puts.push_back(measure_requests(options_, holdfast.port(), [&](std::size_t id) {
                    return request("PUT", id, bytes) + content;
                }));
                const auto get = [&](std::size_t id) { return request("GET", id, 0); };
                static_gets.push_back(measure_requests(options_, nginx.port(), get));
                gets.push_back(measure_requests(options_, holdfast.port(), get));
            }
            print_row("PUT", bytes, "SHA-256, write, fsync, rename, fsync", hashing_loop, puts);
            print_row("PUT", bytes, "write, fsync, rename, fsync", loop, puts);
            print_row("GET", bytes, "nginx", static_gets, gets);
        }
    }

  private:
    [[nodiscard]] std::optional<int> server_core() const {
        return cores_ ? std::optional(cores_->server) : std::nullopt;
    }

    ServerProcess start_holdfast() {
        ServerCommand command{
            .words = {options_.holdfast, "serve", "--http", "none", "--dflockd", "none", "--files",
                      "127.0.0.1:0", "--files-root", folder_ + "/root", "--data", folder_ + "/data",
                      "--auth-token-file", folder_ + "/token", "--log-level", "warning"},
            .door = "files",
            .core = server_core()};
        command.words.insert(command.words.end(), options_.serve_arguments.begin(),
                             options_.serve_arguments.end());
        auto server = ServerProcess::start(command);
        if (!server) give_up(server.error().message);
        return std::move(*server);
    }

    // Serves what the other one has written.
    ServerProcess start_nginx(std::uint16_t port) {
        const std::string file = folder_ + "/nginx.conf";
        std::ofstream(file) << nginx_configuration(folder_, folder_ + "/root", port);
        auto server = ServerProcess::start(
            {.words = {"nginx", "-c", file}, .port = port, .core = server_core()});
        if (!server) give_up(server.error().message);
        return std::move(*server);
    }

    void log_in(std::uint16_t port) {
        const std::string answer = Asker(port).ask(
            "POST /auth/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
            "Authorization: Bearer " +
            std::string(secret) + "\r\n\r\n");
        const std::string name = "\"sessionId\":\"";
        const std::size_t at = answer.find(name);
        if (at == std::string::npos) give_up("cannot log in: " + answer);
        session_ = answer.substr(at + name.size(), 64);
    }

    [[nodiscard]] std::string request(const char* method, std::size_t id, std::size_t bytes) const {
        std::string text =
            fmt::format("{} /file{} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n",
                        method, id, session_);
        if (bytes > 0) text += fmt::format("Content-Length: {}\r\n", bytes);
        return text + "\r\n";
    }

    static void print_row(const char* method, std::size_t bytes, const char* beside,
                          const std::vector<double>& others, const std::vector<double>& ours) {
        fmt::print("| {} | {} | {} | {:.0f} | {:.0f} | {:.2f} |\n", method, bytes, beside,
                   median(others), median(ours), median_ratio(ours, others));
        std::fflush(stdout);
    }

    const Options options_;
    const std::string folder_;
    const std::optional<TwoCores> cores_;
    std::string session_;
};

}  // namespace
}  // namespace holdfast::bench

int main(int argument_count, char** arguments) {
    holdfast::bench::Options options;
    const holdfast::options::Program parser("bench_files",
                                            "The file door against nginx and a bare loop.");
    const holdfast::options::Command program = parser.root();
    program.add_option("--holdfast", options.holdfast, "the server").shows_default();
    program.add_option("--folder", options.folder, "where to write").shows_default();
    program.add_option("--serve", options.serve_arguments, "further arguments of the server");
    program.add_option("--rounds", options.rounds, "for each figure").shows_default();
    program.add_option("--seconds", options.seconds, "of each round").shows_default();
    program.add_option("--concurrency", options.concurrency, "clients at one time").shows_default();
    if (const auto stop = parser.parse(argument_count, arguments)) return stop->show();
    holdfast::bench::FilesBench(std::move(options)).run();
    return 0;
}
