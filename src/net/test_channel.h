#pragma once

// TestChannel: a channel without a socket, which remembers; for tests of protocols.

#include <algorithm>
#include <string>
#include <string_view>

#include "net/channel.h"

namespace holdfast::net {

class TestChannel final : public Channel {
  public:
    std::string& output() override { return sent; }
    void flush() override {}
    void close_after_flush() override { closed = true; }
    void pause() override { paused = true; }
    void resume() override { paused = false; }
    bool congested() const override { return is_congested; }
    bool draining() const override { return is_draining; }
    std::chrono::steady_clock::time_point now() const override { return time; }

    // Gives the protocol bytes the way a connection does.
    void feed(Protocol& protocol, std::string_view bytes) {
        held.append(bytes);
        offer(protocol);
    }

    void offer(Protocol& protocol) {
        if (!paused && !closed && !held.empty()) held.erase(0, protocol.on_input(held));
    }

    // What was sent since the last call, without what changes with the time of day.
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
    std::chrono::steady_clock::time_point time;
};

}  // namespace holdfast::net
