#pragma once

// TestClient: a peer that blocks, for tests. Every wait fails the test after ten seconds.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "net/sockets/endpoint.h"

namespace holdfast::net {

struct TestResponse {
    int status = 0;
    std::string header;
    std::string body;
};

class TestClient {
  public:
    explicit TestClient(const Endpoint& server, int receive_buffer_bytes = 0)
        : descriptor_(::socket(server.socket_address().protocol().family(),
                               SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const timeval patience{.tv_sec = 10, .tv_usec = 0};
        ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        if (receive_buffer_bytes > 0) {
            ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes,
                         sizeof receive_buffer_bytes);
        }
        EXPECT_EQ(0, ::connect(descriptor_, server.socket_address().data(),
                               static_cast<socklen_t>(server.socket_address().size())));
    }
    TestClient(TestClient&& other) noexcept
        : descriptor_(std::exchange(other.descriptor_, -1)), unread_(std::move(other.unread_)) {}
    virtual ~TestClient() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }

    void send(std::string_view bytes) {
        while (!bytes.empty()) {
            const auto count = write_some(bytes);
            ASSERT_GT(count, 0) << "the peer takes no more";
            bytes.remove_prefix(static_cast<std::size_t>(count));
        }
    }

    // Sends as much as the kernel accepts at once; false if it accepts nothing.
    bool try_send(std::string_view bytes) {
        return ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
    }

    // Whether something to read, or the end, arrives within that time.
    [[nodiscard]] bool has_input(std::chrono::milliseconds patience) {
        pollfd watched{.fd = descriptor_, .events = POLLIN, .revents = 0};
        return !unread_.empty() || ::poll(&watched, 1, static_cast<int>(patience.count())) != 0;
    }

    std::string read(std::size_t bytes) {
        while (unread_.size() < bytes && receive()) {
        }
        auto text = unread_.substr(0, bytes);
        unread_.erase(0, bytes);
        return text;
    }

    // Everything that arrives until the server closes its side.
    std::string read_to_end() {
        while (receive()) {
        }
        return std::exchange(unread_, {});
    }

    TestResponse response(bool head = false) {
        std::size_t end;
        while ((end = unread_.find("\r\n\r\n")) == std::string::npos) {
            if (!receive()) {
                ADD_FAILURE() << "no response but: " << unread_;
                return {};
            }
        }
        TestResponse response;
        response.header = read(end + 4);
        std::from_chars(response.header.data() + 9, response.header.data() + 12, response.status);
        const auto length = response.header.find("Content-Length: ");
        if (head || length == std::string::npos) return response;
        std::size_t bytes = 0;
        const char* const text = response.header.data();
        std::from_chars(text + length + 16, text + response.header.size(), bytes);
        response.body = read(bytes);
        return response;
    }

    virtual void finish_sending() { ::shutdown(descriptor_, SHUT_WR); }

    // Breaks the connection with a reset.
    void reset() {
        const linger none{.l_onoff = 1, .l_linger = 0};
        ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &none, sizeof none);
        ::close(std::exchange(descriptor_, -1));
    }

  protected:
    virtual ssize_t write_some(std::string_view bytes) {
        return ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    virtual ssize_t read_some(std::span<char> buffer) {
        const auto count = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
        EXPECT_FALSE(count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) << "nothing came";
        return count;
    }

  private:
    bool receive() {
        std::array<char, 16384> buffer;
        const auto count = read_some(buffer);
        if (count > 0) unread_.append(buffer.data(), static_cast<std::size_t>(count));
        return count > 0;
    }

    int descriptor_;
    std::string unread_;
};

}  // namespace holdfast::net
