#pragma once

// EventReader: reads `/v1/events` as a client does.

#include <gtest/gtest.h>

#include <string>

#include "test_host.h"

namespace holdfast::conformance {

struct SeenEvent {
    std::string id;
    std::string kind;
    std::string data;
};

class EventReader {
  public:
    // A stream of another address.
    struct Address {
        std::string path;
        std::string headers = {};  // whole lines
    };

    // Returns when the stream has begun: what happens afterwards is in it.
    explicit EventReader(TestHost& host, const std::string& query = "",
                         const std::string& last_event_id = "")
        : EventReader(host, Address{.path = "/v1/events" + query,
                                    .headers = last_event_id.empty()
                                                   ? ""
                                                   : "Last-Event-ID: " + last_event_id + "\r\n"}) {}
    EventReader(TestHost& host, const Address& address) : client_(host.connect()) {
        client_.send("GET " + address.path + " HTTP/1.1\r\nHost: localhost\r\n" + address.headers +
                     "\r\n");
        const net::TestResponse response = client_.response();
        EXPECT_EQ(response.status, 200);
        EXPECT_NE(response.header.find("Content-Type: text/event-stream\r\n"), std::string::npos);
        EXPECT_EQ(read_block().substr(0, 1), ":");  // a comment, sent when it begins
    }

    // Waits for the next event.
    SeenEvent next() {
        std::string block;
        do {
            block = read_block();
        } while (block.starts_with(':'));
        return {
            .id = field(block, "id"), .kind = field(block, "event"), .data = field(block, "data")};
    }

  private:
    // Everything up to an empty line.
    std::string read_block() {
        std::size_t end;
        while ((end = text_.find("\n\n")) == std::string::npos) {
            const std::string chunk = read_chunk();
            if (chunk.empty()) {
                ADD_FAILURE() << "the stream has ended";
                return "";
            }
            text_ += chunk;
        }
        std::string block = text_.substr(0, end + 1);
        text_.erase(0, end + 2);
        return block;
    }

    std::string read_chunk() {
        std::string size;
        while (!size.ends_with("\r\n")) {
            const std::string byte = client_.read(1);
            if (byte.empty()) return "";
            size += byte;
        }
        std::string chunk = client_.read(std::stoul(size, nullptr, 16));
        EXPECT_EQ(client_.read(2), "\r\n");
        return chunk;
    }

    static std::string field(const std::string& block, const char* name) {
        const std::string start = std::string(name) + ": ";
        const auto at = block.starts_with(start) ? 0 : block.find("\n" + start);
        if (at == std::string::npos) return "";
        const auto begin = block.find(": ", at) + 2;
        return block.substr(begin, block.find('\n', begin) - begin);
    }

    net::TestClient client_;
    std::string text_;
};

}  // namespace holdfast::conformance
