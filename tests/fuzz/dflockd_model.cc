#include "dflockd_model.h"

#include <utility>

#include "base/text/utf8.h"
#include "dflockd_words.h"

namespace holdfast::fuzz {

void DflockdModel::connect(int connection) {
    connections_[connection] = {};
    connections_[connection].is_admitted = options_.secret.empty();
}

void DflockdModel::send(int connection, std::string_view bytes) {
    ++step_;
    connections_[connection].input += bytes;
    while (do_next(connection)) {
    }
}

void DflockdModel::stop_sending(int connection) {
    ++step_;
    Connection& stopped = connections_[connection];
    stopped.has_stopped_sending = true;
    if (stopped.is_waiting && !stopped.late) leave(connection);
}

void DflockdModel::close(int connection) {
    ++step_;
    leave(connection);
    connections_.erase(connection);
}

// A wait that is over is over before anything is granted at that moment.
void DflockdModel::pass_second() {
    ++step_;
    ++now_;
    for (auto& [key, lock] : locks_) {
        for (std::size_t i = 0; i < lock.waiters.size();) {
            const Waiter waiter = lock.waiters[i];
            if (!waiter.deadline || *waiter.deadline > now_) {
                ++i;
                continue;
            }
            lock.waiters.erase(lock.waiters.begin() + static_cast<std::ptrdiff_t>(i));
            connections_[waiter.connection].late = Answer{.text = "timeout"};
        }
    }
    std::vector<std::string> keys;
    for (auto& [key, lock] : locks_) {
        keys.push_back(key);
        for (std::size_t i = 0; i < lock.holders.size();) {
            const Holder holder = lock.holders[i];
            if (holder.ends_at > now_) {
                ++i;
                continue;
            }
            lock.holders.erase(lock.holders.begin() + static_cast<std::ptrdiff_t>(i));
            const auto found = connections_[holder.connection].entries.find(key);
            if (found == connections_[holder.connection].entries.end()) continue;
            Entry& entry = found->second;
            const bool is_its = entry.state == Entry::State::granted && entry.grant == holder.grant;
            if (is_its) entry.state = Entry::State::expired;
        }
    }
    for (const std::string& key : keys) hand_on(key);
}

void DflockdModel::settle() {
    for (bool has_moved = true; has_moved;) {
        has_moved = false;
        for (auto& [number, connection] : connections_) {
            if (!connection.late) continue;
            connection.answers.push_back(*connection.late);
            connection.late.reset();
            connection.is_waiting = false;
        }
        for (auto& [number, connection] : connections_) {
            while (do_next(number)) has_moved = true;
        }
        for (auto& [number, connection] : connections_) has_moved |= connection.late.has_value();
    }
}

std::vector<Answer> DflockdModel::take_answers(int connection) {
    return std::exchange(connections_[connection].answers, {});
}

bool DflockdModel::is_closed(int connection) const {
    return connections_.at(connection).is_closed;
}

// Takes the three lines at the front off the input.
DflockdModel::Cut DflockdModel::cut_request(std::string& input, Request& request) {
    std::string rest = input;
    std::string* const lines[] = {&request.command, &request.key, &request.argument};
    for (std::string* const line : lines) {
        const bool is_secret = line == &request.argument && request.command == "auth";
        const std::size_t length_max = is_secret ? secret_length_max : line_length_max;
        const auto end = rest.find('\n');
        const std::string seen = rest.substr(0, end);
        if (line == &request.command && !is_command_so_far(seen)) return Cut::hopeless;
        if (seen.size() > length_max) return Cut::hopeless;
        if (end == std::string::npos) return Cut::incomplete;
        *line = without_returns(seen);
        rest.erase(0, end + 1);
    }
    input = rest;
    return Cut::whole;
}

// False if the connection has nothing to do, or may not.
bool DflockdModel::do_next(int number) {
    Connection& connection = connections_[number];
    if (connection.is_over || connection.is_waiting) return false;
    Request request;
    switch (cut_request(connection.input, request)) {
        case Cut::incomplete: return false;
        case Cut::hopeless: end(number, "error"); return false;
        case Cut::whole: break;
    }
    run(number, request);
    return true;
}

void DflockdModel::run(int number, const Request& request) {
    Connection& connection = connections_[number];
    const bool is_auth = request.command == "auth";
    if (!connection.is_admitted) {
        if (!is_auth || trimmed(request.argument) != options_.secret) {
            return end(number, "error_auth");
        }
        connection.is_admitted = true;
    }
    if (is_auth) {
        return say(number, std::exchange(connection.has_shown_secret, true) ? "error" : "ok");
    }
    if (request.command == "ping") return say(number, "ok");
    if (request.command == "stats") {
        connection.answers.push_back({.kind = Answer::Kind::stats,
                                      .number = static_cast<std::int64_t>(connections_.size())});
        return;
    }
    std::string command = request.command;
    const bool is_semaphore = command.size() == 2 && command[0] == 's';
    if (is_semaphore) command.erase(0, 1);
    if (!is_key(request.key)) return say(number, "error");
    const bool is_new = command == "l" || command == "e";  // no key that there is needs this
    if (is_new && !base::is_utf8(request.key)) return say(number, "error");
    const std::string key = (is_semaphore ? "s " : "l ") + request.key;
    if (command == "l") return run_lock(number, key, request);
    if (command == "e") return run_enqueue(number, key, request);
    if (command == "w") return run_wait(number, key, request);
    if (command == "r") return run_release(number, key, request);
    if (command == "n") return run_renew(number, key, request);
    say(number, "error");
}

}  // namespace holdfast::fuzz
