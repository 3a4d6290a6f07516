#pragma once

// Shared by the tests of a dflockd connection: a connection without a socket, on a service that the
// test drives.

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <string_view>

#include "doors/dflockd/dflockd_protocol.h"
#include "net/loop/test_channel.h"
#include "service/test_service.h"

namespace holdfast::doors::dflockd {

// A connection without a socket.
struct Line {
    Line(DflockdDoor& door, service::Port& port, net::EventLoop& loop)
        : protocol(std::make_unique<DflockdProtocol>(channel, DflockdContext{door, port, loop})) {}

    // Sends the bytes and returns the immediate answers.
    std::string say(std::string_view bytes) {
        channel.feed(*protocol, bytes);
        return channel.take();
    }
    // The answers since then. Input that was held back is offered again, as a connection would.
    std::string hear() {
        channel.offer(*protocol);
        return channel.take();
    }
    // Acquires the lock and returns its token.
    std::string lock(const std::string& key, const std::string& argument = "0") {
        const std::string answer = say("l\n" + key + "\n" + argument + "\n");
        EXPECT_THAT(answer, ::testing::StartsWith("ok "));
        return answer.substr(3, 32);
    }
    void close() {
        protocol->on_closed();
        protocol.reset();
    }

    net::TestChannel channel;
    std::unique_ptr<DflockdProtocol> protocol;
};

class DflockdProtocolTest : public ::testing::Test {
  protected:
    explicit DflockdProtocolTest(
        service::testing::Durability durability = service::testing::Durability::none)
        : at_(durability) {}

    Line connect() { return Line(door_, at_.service, loop_); }
    [[nodiscard]] core::TableCounts counts() const { return at_.service.counts(); }

    service::testing::TestService at_;
    net::EventLoop loop_;
    const rights::TokenSource gate_{{}};
    DflockdDoor door_{{}, gate_};
};

}  // namespace holdfast::doors::dflockd
