#pragma once

// JsonPeer: a server that answers requests as a test says, and remembers them; for tests.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/json/json_value.h"
#include "holdfast/client_options.h"
#include "net/client/test_peer.h"

namespace holdfast::sdk {

struct SeenRequest {
    std::string line;  // "POST /v1/leases"
    std::string header;
    base::JsonValue body;
};

struct PeerAnswer {
    int status = 200;
    std::string body;
    std::string headers = "";
};

class JsonPeer {
  public:
    // Called with each request and how many there were before it. Nothing: the connection is closed
    // without an answer.
    using Reply = std::function<std::optional<PeerAnswer>(const SeenRequest& request, int index)>;

    explicit JsonPeer(Reply reply)
        : reply_(std::move(reply)),
          peer_([this](auto& conversation, int) { converse(conversation); }) {}

    [[nodiscard]] std::string url() const { return peer_.url(); }
    [[nodiscard]] ClientOptions options() const {
        return {.servers = {url()},
                .timeout = std::chrono::seconds{60},
                .retry_for = std::chrono::seconds{60}};
    }
    [[nodiscard]] std::vector<SeenRequest> seen() const {
        const std::lock_guard guard(mutex_);
        return seen_;
    }
    // Returns when so many requests have come.
    void wait_for(std::size_t count) {
        std::unique_lock guard(mutex_);
        came_.wait(guard, [&] { return seen_.size() >= count; });
    }

    // An answer that never comes: waits until the client has gone.
    static std::optional<PeerAnswer> silence() { return PeerAnswer{.status = 0}; }

  private:
    void converse(net::TestPeer::Conversation& conversation) {
        while (true) {
            const std::string text = conversation.read_request();
            if (text.empty()) return;
            const auto end_of_header = text.find("\r\n\r\n");
            SeenRequest request{.line = text.substr(0, text.find(" HTTP/1.1\r\n")),
                                .header = text.substr(0, end_of_header),
                                .body = base::JsonValue::parse(text.substr(end_of_header + 4))
                                            .value_or(base::JsonValue())};
            int index = 0;
            {
                const std::lock_guard guard(mutex_);
                index = static_cast<int>(seen_.size());
                seen_.push_back(request);
            }
            came_.notify_all();
            const auto answer = reply_(request, index);
            if (!answer) return;
            if (answer->status == 0) return conversation.wait_for_end();
            conversation.send("HTTP/1.1 " + std::to_string(answer->status) + " X\r\n" +
                              answer->headers + "Content-Length: " +
                              std::to_string(answer->body.size()) + "\r\n\r\n" + answer->body);
        }
    }

    const Reply reply_;
    mutable std::mutex mutex_;
    std::condition_variable came_;
    std::vector<SeenRequest> seen_;  // under mutex_
    net::TestPeer peer_;
};

}  // namespace holdfast::sdk
