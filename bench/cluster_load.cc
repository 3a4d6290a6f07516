// bench_cluster_load: clients that take locks and give them back, for a while, at a cluster of Holdfast
// or at etcd itself. Prints the cycles per second and how long a cycle took.
//
//     bench_cluster_load --dflockd 127.0.0.1:6388 --clients 80 --names 0 --seconds 5
//     bench_cluster_load --etcd 127.0.0.1:2379,127.0.0.1:22379 --clients 80 --names 8
//     bench_cluster_load --etcd 127.0.0.1:2379 --clients 1 --plain
//
// With --names 0 every client has a lock of its own; otherwise all of them want these few. etcd's locks
// are those of its own recipe: a key for each who wants the lock, under a lease that is granted once;
// the oldest key has the lock, and everybody else waits until the key before theirs is gone. --plain
// makes two transactions that nobody contends for, and nothing else.

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "etcd/client.h"
#include "etcd/cluster_url.h"
#include "net/loop/event_loop.h"
#include "net/sockets/endpoint.h"
#include "options/options.h"

namespace holdfast::bench {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

struct Options {
    std::string dflockd, etcd;  // one of them
    std::size_t clients = 80;
    std::size_t names = 0;
    double seconds = 5;
    bool is_plain = false;

    [[nodiscard]] std::string name_of(std::size_t client) const {
        return fmt::format("bench-{}", names == 0 ? client : client % names);
    }
};

// How long each cycle took, in milliseconds.
using Times = std::vector<double>;

double since(Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

void print(Times times, double seconds) {
    std::sort(times.begin(), times.end());
    const auto at = [&](double share) {
        if (times.empty()) return 0.0;
        return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
    };
    fmt::print("{{\"cycles\":{:.1f},\"p50\":{:.3f},\"p99\":{:.3f}}}\n",
               static_cast<double>(times.size()) / seconds, at(0.5), at(0.99));
}

// ---- Holdfast, through the dflockd door ----

// A connection on which a thread waits for its answers.
class Line {
  public:
    explicit Line(const net::Endpoint& endpoint) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        const auto address = endpoint.socket_address();
        CHECK(::connect(socket_, address.data(), static_cast<socklen_t>(address.size())) == 0);
        const int on = 1;
        ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    ~Line() { ::close(socket_); }
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    std::string ask(const std::string& request) {
        CHECK(::send(socket_, request.data(), request.size(), MSG_NOSIGNAL) ==
              static_cast<ssize_t>(request.size()));
        std::string answer;
        char bytes[256];
        while (!answer.ends_with('\n')) {
            const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
            CHECK(count > 0);
            answer.append(bytes, static_cast<std::size_t>(count));
        }
        return answer;
    }

  private:
    int socket_;
};

Times run_client(const Options& options, std::size_t client, const std::atomic<bool>& is_over) {
    Line line(net::parse_endpoint(options.dflockd).value());
    const std::string name = options.name_of(client);
    Times times;
    while (!is_over) {
        const auto begin = Clock::now();
        const std::string answer = line.ask("l\n" + name + "\n60 60\n");
        CHECK(answer.starts_with("ok "));
        const std::string token = answer.substr(3, answer.find(' ', 3) - 3);
        CHECK(line.ask("r\n" + name + "\n" + token + "\n") == "ok\n");
        times.push_back(since(begin));
    }
    return times;
}

Times run_holdfast(const Options& options) {
    std::atomic<bool> is_over = false;
    std::vector<Times> all(options.clients);
    std::vector<std::thread> threads;
    for (std::size_t client = 0; client < options.clients; ++client) {
        threads.emplace_back([&, client] { all[client] = run_client(options, client, is_over); });
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(options.seconds));
    is_over = true;
    for (std::thread& thread : threads) thread.join();
    Times times;
    for (const Times& some : all) times.insert(times.end(), some.begin(), some.end());
    return times;
}

// ---- etcd, by its own recipe ----

constexpr auto call_timeout = 30s;

// One client with a connection of its own.
class Contender {
  public:
    Contender(net::EventLoop& loop, const etcd::ClusterUrl& url, const Options& options,
              std::size_t client, Times& times)
        : is_plain_(options.is_plain),
          prefix_(fmt::format("bench/{}/{}/", ::getpid(), options.name_of(client))),
          key_(prefix_ + std::to_string(client)),
          times_(times) {
        etcd::ClientSettings settings{.members = url.members};
        std::rotate(settings.members.begin(),
                    settings.members.begin() +
                        static_cast<std::ptrdiff_t>(client % settings.members.size()),
                    settings.members.end());
        api_ = etcd::Client::open(loop, std::move(settings)).value();
        api_->grant(0, 60s, call_timeout, [this](const etcd::Answer<etcd::LeaseAnswer>& lease) {
            CHECK(lease.has_value());
            lease_ = lease->id;
            lock();
        });
    }

  private:
    void lock() {
        begin_ = Clock::now();
        etcd::Transaction transaction;
        transaction.conditions.push_back(
            {.target = etcd::Compare::Target::create_revision, .key = key_});
        transaction.then.push_back(etcd::Operation::put(key_, "", lease_));
        if (!is_plain_) transaction.then.push_back(contenders());
        api_->transact(std::make_shared<const etcd::Transaction>(std::move(transaction)),
                       call_timeout, [this](const etcd::Answer<etcd::TransactionAnswer>& answer) {
                           CHECK(answer && answer->is_true);
                           if (is_plain_) return unlock();
                           look(answer->ranges.at(0).found, answer->revision);
                       });
    }

    // Everybody who wants the lock.
    [[nodiscard]] etcd::Operation contenders() const {
        etcd::Operation operation = etcd::Operation::range(prefix_);
        operation.range_end = etcd::end_of_prefix(prefix_);
        return operation;
    }

    void look(const std::vector<etcd::KeyValue>& found, etcd::Revision revision) {
        const auto own = std::find_if(found.begin(), found.end(),
                                      [this](const auto& each) { return each.key == key_; });
        CHECK(own != found.end());
        const etcd::KeyValue* before = nullptr;
        for (const etcd::KeyValue& each : found) {
            if (each.create_revision >= own->create_revision) continue;
            if (before == nullptr || each.create_revision > before->create_revision) before = &each;
        }
        if (before == nullptr) return unlock();
        watch_ = api_->watch(
            before->key, "", revision + 1,
            [this](etcd::Revision seen, const std::vector<etcd::WatchEvent>& events) {
                const bool is_gone =
                    std::any_of(events.begin(), events.end(),
                                [](const auto& event) { return event.is_removal; });
                if (!is_gone) return;
                api_->cancel(watch_);
                look_again(seen);
            },
            [this](const etcd::Failure&) { look_again(0); });
    }

    void look_again(etcd::Revision /*seen*/) {
        api_->range({.key = prefix_, .range_end = etcd::end_of_prefix(prefix_)}, call_timeout,
                    [this](const etcd::Answer<etcd::RangeAnswer>& answer) {
                        CHECK(answer.has_value());
                        look(answer->found, answer->revision);
                    });
    }

    void unlock() {
        etcd::Transaction transaction;
        transaction.then.push_back(etcd::Operation::remove(key_));
        api_->transact(std::make_shared<const etcd::Transaction>(std::move(transaction)),
                       call_timeout, [this](const etcd::Answer<etcd::TransactionAnswer>& answer) {
                           CHECK(answer.has_value());
                           times_.push_back(since(begin_));
                           lock();
                       });
    }

    const bool is_plain_;
    const std::string prefix_, key_;
    Times& times_;
    std::unique_ptr<etcd::Client> api_;
    etcd::LeaseId lease_ = 0;
    etcd::Api::WatchId watch_ = 0;
    Clock::time_point begin_;
};

Times run_etcd(const Options& options) {
    const auto url = etcd::ClusterUrl::parse("etcd://" + options.etcd + "/bench").value();
    net::EventLoop loop;
    Times times;
    std::vector<std::unique_ptr<Contender>> clients;
    loop.post([&] {
        for (std::size_t client = 0; client < options.clients; ++client) {
            clients.push_back(std::make_unique<Contender>(loop, url, options, client, times));
        }
    });
    net::LoopTimer end(loop, [&] { loop.stop(); });
    end.call_at(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(options.seconds)));
    loop.run();
    const Times done = times;
    clients.clear();
    return done;
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
    using namespace holdfast;
    bench::Options options;
    const options::Program program("bench_cluster_load", "load for a cluster, or for its etcd");
    const options::Command command = program.root();
    command.add_option("--dflockd", options.dflockd, "the dflockd door of a node");
    command.add_option("--etcd", options.etcd, "members of etcd, by commas");
    command.add_option("--clients", options.clients, "clients at one time");
    command.add_option("--names", options.names, "locks that they share; 0: each has its own");
    command.add_option("--seconds", options.seconds, "how long");
    command.add_flag("--plain", options.is_plain, "two transactions instead of the recipe");
    if (const auto stop = program.parse(argc, argv)) return stop->show();
    bench::print(options.etcd.empty() ? bench::run_holdfast(options) : bench::run_etcd(options),
                 options.seconds);
    return EXIT_SUCCESS;
}
