#include "wire/lock_traffic.h"

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace holdfast::bench {

namespace {

constexpr std::string_view zero_token = "00000000000000000000000000000000";
constexpr std::string_view ok_and_space = "ok ";

std::string key_of(const LockTraffic& traffic, std::size_t slot) {
    return traffic.is_hot ? "hot-key" : fmt::format("k{:04}{:02}", traffic.connection, slot);
}

std::string release_request(std::string_view key) {
    return fmt::format("r\n{}\n{}\n", key, zero_token);
}

// A command in Redis' own form.
std::string redis_command(std::initializer_list<std::string_view> words) {
    std::string text = fmt::format("*{}\r\n", words.size());
    for (const std::string_view word : words) {
        text += fmt::format("${}\r\n{}\r\n", word.size(), word);
    }
    return text;
}

// A text of Redis: its length in one line, itself in the next.
std::size_t two_lines(std::string_view received) {
    const std::size_t first = line_answer(received);
    if (first == 0) return 0;
    const std::size_t second = line_answer(received.substr(first));
    return second == 0 ? 0 : first + second;
}

}  // namespace

Requests dflockd_requests(const LockTraffic& traffic) {
    Requests requests;
    for (std::size_t slot = 0; slot < traffic.pipeline; ++slot) {
        const char* const timeout = traffic.is_hot ? "60" : "0";
        requests.push_back(fmt::format("l\n{}\n{}\n", key_of(traffic, slot), timeout));
    }
    for (std::size_t slot = 0; slot < traffic.pipeline; ++slot) {
        requests.push_back(release_request(key_of(traffic, slot)));
    }
    return requests;
}

Carry dflockd_carry() {
    const std::string request = release_request(key_of({}, 0));
    return {.answer_offset = ok_and_space.size(),
            .request_offset = request.find(zero_token),
            .bytes = zero_token.size()};
}

base::Result<Requests> redis_requests(Peer& peer, const LockTraffic& traffic) {
    constexpr std::string_view script =
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) "
        "else return 0 end";
    TRY(const auto loaded, peer.exchange(redis_command({"SCRIPT", "LOAD", script}), two_lines));
    // A connection before this one that ended with locks in its hands has left them behind.
    for (std::size_t slot = 0; slot < traffic.pipeline; ++slot) {
        TRY(peer.exchange(redis_command({"DEL", key_of(traffic, slot)}), line_answer));
    }
    const std::string hash = loaded.substr(line_answer(loaded), 40);
    Requests requests;
    for (std::size_t slot = 0; slot < traffic.pipeline; ++slot) {
        const std::string value = fmt::format("v{:04}{:02}", traffic.connection, slot);
        requests.push_back(
            redis_command({"SET", key_of(traffic, slot), value, "NX", "PX", "33000"}));
    }
    for (std::size_t slot = 0; slot < traffic.pipeline; ++slot) {
        const std::string value = fmt::format("v{:04}{:02}", traffic.connection, slot);
        requests.push_back(redis_command({"EVALSHA", hash, "1", key_of(traffic, slot), value}));
    }
    return requests;
}

MessageSizes dflockd_sizes() {
    const Requests requests = dflockd_requests({});
    const std::size_t granted = ok_and_space.size() + zero_token.size() + 4;  // ` 33` and its end
    const std::size_t released = 3;
    return {.request_bytes = (requests[0].size() + requests[1].size()) / 2,
            .answer_bytes = (granted + released) / 2};
}

}  // namespace holdfast::bench
