#pragma once

// Shared by the tests of a Redis connection: a connection without a socket, on a service that the
// test drives.

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "doors/redis/redis_protocol.h"
#include "net/loop/test_channel.h"
#include "service/test_service.h"

namespace holdfast::doors::redis {

// A connection without a socket.
struct Line {
    Line(RedisDoor& door, service::Port& port, net::EventLoop& loop)
        : protocol(std::make_unique<RedisProtocol>(channel, RedisContext{door, port, loop})) {}

    // Sends a line and returns what is answered at once, with `|` for the ends of lines.
    std::string say(const std::string& line) { return say_bytes(line + "\r\n"); }
    std::string say_bytes(std::string_view bytes) {
        channel.feed(*protocol, bytes);
        return hear();
    }
    // Sends words of any bytes.
    std::string send(const std::vector<std::string>& words) {
        std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
        for (const std::string& word : words) {
            bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
        }
        return say_bytes(bytes);
    }
    // The answers since then. Input that was held back is offered again, as a connection would.
    std::string hear() {
        channel.offer(*protocol);
        std::string text = std::exchange(channel.sent, {});
        for (std::size_t at = text.find("\r\n"); at != std::string::npos; at = text.find("\r\n")) {
            text.replace(at, 2, "|");
        }
        return text;
    }
    void close() {
        protocol->on_closed();
        protocol.reset();
    }

    net::TestChannel channel;
    std::unique_ptr<RedisProtocol> protocol;
};

class RedisProtocolTest : public ::testing::Test {
  protected:
    explicit RedisProtocolTest(
        service::testing::Durability durability = service::testing::Durability::none)
        : at_(durability) {}

    Line connect() { return Line(door_, at_.service, loop_); }
    Line connect(RedisDoor& door) { return Line(door, at_.service, loop_); }

    service::testing::TestService at_;
    net::EventLoop loop_;
    const rights::TokenSource gate_{{}};
    RedisDoor door_{{}, gate_, at_.clock};
};

}  // namespace holdfast::doors::redis
