#pragma once

// TestChannel: a channel without a socket that records every call; for tests of protocols.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "net/loop/channel.h"

namespace holdfast::net {

class TestChannel final : public Channel {
  public:
    std::string& output() override { return sent; }
    void flush() override {}
    void close_after_flush() override { closed = true; }
    void finish_output() override { is_finished = true; }
    void cut() override { closed = is_cut = true; }
    void pause() override { paused = true; }
    void resume() override { paused = false; }
    bool congested() const override { return is_congested; }
    bool should_return() override { return is_congested || requests_left-- == 0; }
    void count_waiting(std::ptrdiff_t bytes) override { waiting_bytes += bytes; }
    bool has_room_to_wait() override { return has_room; }
    bool draining() const override { return is_draining; }
    std::string client_address() const override { return "192.0.2.1:5000"; }
    bool is_client_lost() const override { return is_lost; }
    std::chrono::steady_clock::time_point now() const override { return time; }

    // Gives the protocol bytes the way a connection does.
    void feed(Protocol& protocol, std::string_view bytes) {
        held.append(bytes);
        offer(protocol);
    }

    void offer(Protocol& protocol) {
        if (paused || closed || held.empty()) return;
        requests_left = requests_per_turn;
        held.erase(0, protocol.on_input(held));
    }

    // What was sent since the last call, without the Date header.
    std::string take() {
        std::string text;
        for (std::string_view rest = sent; !rest.empty();) {
            const auto end = std::min(rest.find('\n'), rest.size() - 1) + 1;
            if (!rest.starts_with("Date: ")) text.append(rest.substr(0, end));
            rest.remove_prefix(end);
        }
        sent.clear();
        return text;
    }

    std::string sent;
    std::string held;
    bool closed = false;
    bool paused = false;
    bool is_congested = false;
    bool is_draining = false;
    bool is_finished = false;  // finish_output() was called
    bool is_cut = false;
    bool is_lost = false;              // the client came through a node that was lost
    std::ptrdiff_t waiting_bytes = 0;  // of answers that wait for earlier ones
    bool has_room = true;              // for more of them
    int requests_per_turn = -1;        // after which should_return() says so; -1: never
    int requests_left = -1;
    std::chrono::steady_clock::time_point time;
};

}  // namespace holdfast::net
