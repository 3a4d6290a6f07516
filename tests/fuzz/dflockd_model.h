#pragma once

// DflockdModel: what a dflockd server must answer, worked out in the simplest way that can be
// checked by eye. It knows the protocol's page and nothing of the server's sources: every lock is a
// list of holders and a list of waiters, and everything is looked for from the front.
//
// Requests of one connection are done one after another; one that waits for a lock holds back the
// rest. Time passes in whole seconds. What became known to a waiting connection is told to it by
// settle(), as a server tells it at the end of a turn.
//
// A grant has a number here, and a token only once the server has told it: see Answer and learn().

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::fuzz {

// One line that a connection must be told.
struct Answer {
    enum class Kind { line, grant, stats };

    Kind kind = Kind::line;
    std::string text;         // the line; of a grant, the word before its token
    std::size_t grant = 0;    // of a grant: its number
    std::int64_t number = 0;  // of a grant: the lease in seconds; of stats: the connections
};

// One grant: what it was for, and when.
struct Grant {
    std::string key;  // with its kind
    std::uint64_t step = 0;
    std::string token;  // empty: nobody was told yet
};

class DflockdModel {
  public:
    struct Options {
        std::string secret;              // empty: nobody is asked for one
        std::size_t waiters_max = 1000;  // for one lock
    };

    explicit DflockdModel(Options options) : options_(std::move(options)) {}

    // What happens. `connection` is any number that is not in use.
    void connect(int connection);
    void send(int connection, std::string_view bytes);
    void stop_sending(int connection);
    void close(int connection);
    void pass_second();
    void settle();

    // What the connection must have been told since the last call, in order.
    [[nodiscard]] std::vector<Answer> take_answers(int connection);
    // Whether the server must have closed the connection after them.
    [[nodiscard]] bool is_closed(int connection) const;

    [[nodiscard]] const std::vector<Grant>& grants() const { return grants_; }
    void learn(std::size_t grant, const std::string& token) { grants_[grant].token = token; }

  private:
    struct Request {
        std::string command, key, argument;
    };
    struct Holder {
        int connection = 0;
        std::size_t grant = 0;
        std::int64_t ends_at = 0;
    };
    struct Waiter {
        int connection = 0;
        std::int64_t lease = 0;
        std::optional<std::int64_t> deadline;
        bool is_entry = false;  // of the two-phase flow, and nobody waits for it yet
    };
    struct Lock {
        std::uint64_t limit = 1;
        std::vector<Holder> holders;
        std::deque<Waiter> waiters;
    };
    // What `e` has left for `w`.
    struct Entry {
        enum class State { queued, granted, expired };
        State state = State::queued;
        std::int64_t lease = 0;
        std::size_t grant = 0;
    };
    struct Connection {
        std::string input;
        std::vector<Answer> answers;
        std::optional<Answer> late;  // the answer to the request that waited
        std::map<std::string, Entry> entries;
        bool is_waiting = false;
        bool is_admitted = false;
        bool has_shown_secret = false;
        bool has_stopped_sending = false;
        bool is_over = false;    // nothing more is looked at
        bool is_closed = false;  // by the server
    };

    // Whether the three lines of a request are there; hopeless: they never will be.
    enum class Cut { whole, incomplete, hopeless };
    [[nodiscard]] static Cut cut_request(std::string& input, Request& request);

    bool do_next(int number);
    void run(int number, const Request& request);
    void run_lock(int number, const std::string& key, const Request& request);
    void run_enqueue(int number, const std::string& key, const Request& request);
    void run_wait(int number, const std::string& key, const Request& request);
    void run_release(int number, const std::string& key, const Request& request);
    void run_renew(int number, const std::string& key, const Request& request);

    void say(int number, const std::string& line);
    void end(int number, const std::string& line);
    [[nodiscard]] Answer give(const std::string& key, int number, std::int64_t lease,
                              const std::string& word);
    [[nodiscard]] bool is_free(const Lock& lock) const;
    void hand_on(const std::string& key);
    void leave(int number);
    Holder* find_holder(const std::string& key, const std::string& token);

    const Options options_;
    std::int64_t now_ = 0;
    std::uint64_t step_ = 0;
    std::map<std::string, Lock> locks_;  // by `l ` or `s ` and the key; those in use
    std::map<int, Connection> connections_;
    std::vector<Grant> grants_;
};

}  // namespace holdfast::fuzz
