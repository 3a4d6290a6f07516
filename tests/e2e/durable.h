#pragma once

// What the tests of durability share: a folder, a server that is killed, and clients that remember
// what they were told.

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "server_process.h"

namespace holdfast::e2e {

// A folder of the test's own, gone with it.
class DataFolder {
  public:
    DataFolder();
    ~DataFolder();
    DataFolder(const DataFolder&) = delete;
    DataFolder& operator=(const DataFolder&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string database() const { return path_ + "/holdfast.db"; }

  private:
    std::string path_;
};

// The flags of a server that keeps its locks in `folder`, on a free port.
[[nodiscard]] std::vector<std::string> flags_for(const std::string& folder);

// Without any chance to tidy up.
void kill_at_once(ServerProcess& server);

// An answer, or status 0 when none came: the server may be gone.
struct Heard {
    int status = 0;
    std::string text;
};
[[nodiscard]] Heard try_ask(const ServerProcess& server, const std::string& line,
                            const std::string& body = "");

// The fencing token of a lock taken at the LockServer door; 0 when it was not given.
[[nodiscard]] std::int64_t try_take(const ServerProcess& server, const std::string& lock);

// Asks until the server does anything but refuse to serve. Fails the test after a minute.
[[nodiscard]] Heard ask_until_served(const ServerProcess& server, const std::string& line);

// What a crowd does with its locks: keeps them all; or gives every second one back at once, and
// takes another at the LockServer door, to see its token.
enum class Habit : std::uint8_t { keep, give_back };

// Clients that take locks of their own, until they are not given one; and what they were told.
class Crowd {
  public:
    static constexpr std::size_t clients = 8;
    static constexpr int locks_max = 500;  // of each: more than any disk of a test has room for

    // `round` makes the names of the locks its own. The server outlives the crowd's last request.
    Crowd(const ServerProcess& server, int round, Habit habit);
    ~Crowd();
    Crowd(const Crowd&) = delete;
    Crowd& operator=(const Crowd&) = delete;

    // Returns when so many locks were given out, or nobody is asking any more.
    void wait_for_grants(int count) const;
    // Returns when nobody asks any more.
    void finish();

    // REQUIRES, from here on: finish() has returned. Of the locks: those they hold, those they gave
    // back, and those they were refused with an answer.
    [[nodiscard]] std::vector<std::string> held() const;
    [[nodiscard]] std::vector<std::string> free() const;
    [[nodiscard]] std::vector<std::string> refused() const;
    [[nodiscard]] std::vector<Heard> refusals() const;
    // All that they saw.
    [[nodiscard]] std::vector<std::int64_t> tokens() const;
    [[nodiscard]] int grants() const { return grants_; }

  private:
    struct Client {
        std::vector<std::string> held, free, refused;
        std::vector<Heard> refusals;
        std::vector<std::int64_t> tokens;
    };

    void work(int round, std::size_t id);
    template <class Value>
    [[nodiscard]] std::vector<Value> all(std::vector<Value> Client::*which) const;

    const ServerProcess& server_;
    const Habit habit_;
    std::atomic<bool> is_over_ = false;
    std::atomic<int> grants_ = 0;
    std::atomic<std::size_t> working_ = clients;
    std::vector<Client> memories_ = std::vector<Client>(clients);
    std::vector<std::thread> threads_;
};

// Fails the test for every one of the jobs that is not held, or not free.
void expect_held(const ServerProcess& server, const std::vector<std::string>& jobs);
void expect_free(const ServerProcess& server, const std::vector<std::string>& jobs);

}  // namespace holdfast::e2e
