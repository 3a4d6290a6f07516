#pragma once

// TestPeer: a server that does as a test says, well-behaved or not; for tests of clients.
//
// It accepts connections on a free port of 127.0.0.1, or on a Unix socket. For each connection it
// calls the test's function on a thread of its own. A function that waits is woken when the peer is
// destroyed.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "net/sockets/endpoint.h"

namespace holdfast::net {

// A path for a Unix socket in a folder of its own, which is removed at the end.
class TestSocketPath {
  public:
    TestSocketPath() {
        std::string folder = testing::TempDir() + "socketXXXXXX";
        EXPECT_NE(::mkdtemp(folder.data()), nullptr);
        folder_ = folder;
    }
    ~TestSocketPath() { std::filesystem::remove_all(folder_); }
    TestSocketPath(const TestSocketPath&) = delete;
    TestSocketPath& operator=(const TestSocketPath&) = delete;

    [[nodiscard]] std::string path() const { return (folder_ / "s").string(); }
    [[nodiscard]] std::string url() const { return "unix:" + path(); }

  private:
    std::filesystem::path folder_;
};

class TestPeer {
  public:
    class Conversation {
      public:
        explicit Conversation(int descriptor) : descriptor_(descriptor) {}

        // The header of the next request, and its body if it says how long that is; empty when the
        // client has gone.
        std::string read_request() {
            std::size_t end;
            while ((end = unread_.find("\r\n\r\n")) == std::string::npos) {
                if (!receive()) return "";
            }
            std::size_t size = end + 4;
            const auto length = unread_.find("Content-Length: ");
            if (length < end) size += std::stoul(unread_.substr(length + 16));
            while (unread_.size() < size) {
                if (!receive()) return "";
            }
            std::string request = unread_.substr(0, size);
            unread_.erase(0, size);
            return request;
        }

        void send(std::string_view bytes) const {
            while (!bytes.empty()) {
                const auto count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
                if (count <= 0) return;
                bytes.remove_prefix(static_cast<std::size_t>(count));
            }
        }

        [[nodiscard]] int descriptor() const { return descriptor_; }

        // Returns when the client has closed the connection, or the peer is destroyed.
        void wait_for_end() {
            while (receive()) {
            }
        }

      private:
        bool receive() {
            std::array<char, 4096> buffer;
            const auto count = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
            if (count > 0) unread_.append(buffer.data(), static_cast<std::size_t>(count));
            return count > 0;
        }

        const int descriptor_;
        std::string unread_;
    };
    using Act = std::function<void(Conversation& conversation, int number)>;  // from 1

    explicit TestPeer(Act act) : act_(std::move(act)) {
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        EXPECT_EQ(0, ::bind(listener_, generic, size));
        EXPECT_EQ(0, ::listen(listener_, 16));
        EXPECT_EQ(0, ::getsockname(listener_, generic, &size));
        url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
        acceptor_ = std::thread([this] { accept_all(); });
    }
    TestPeer(const TestSocketPath& path, Act act) : act_(std::move(act)), url_(path.url()) {
        listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const auto address = Endpoint::unix_socket(path.path()).socket_address();
        EXPECT_EQ(0, ::bind(listener_, address.data(), static_cast<socklen_t>(address.size())));
        EXPECT_EQ(0, ::listen(listener_, 16));
        acceptor_ = std::thread([this] { accept_all(); });
    }
    ~TestPeer() {
        is_ending_ = true;
        ::shutdown(listener_, SHUT_RDWR);
        acceptor_.join();
        {
            const std::lock_guard guard(mutex_);
            for (const int descriptor : open_) ::shutdown(descriptor, SHUT_RDWR);
        }
        for (auto& thread : threads_) thread.join();
        ::close(listener_);
    }
    TestPeer(const TestPeer&) = delete;
    TestPeer& operator=(const TestPeer&) = delete;

    // Where clients find it: `http://127.0.0.1:PORT` or `unix:PATH`.
    [[nodiscard]] const std::string& url() const { return url_; }
    // How many connections were accepted.
    [[nodiscard]] int count() const { return count_; }
    [[nodiscard]] bool is_ending() const { return is_ending_; }

  private:
    void accept_all() {
        while (true) {
            const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            if (descriptor < 0) return;
            const int number = ++count_;
            {
                const std::lock_guard guard(mutex_);
                open_.push_back(descriptor);
            }
            threads_.emplace_back([this, descriptor, number] {
                Conversation conversation(descriptor);
                act_(conversation, number);
                const std::lock_guard guard(mutex_);
                std::erase(open_, descriptor);
                ::close(descriptor);
            });
        }
    }

    const Act act_;
    int listener_ = -1;
    std::string url_;
    std::atomic<bool> is_ending_ = false;
    std::atomic<int> count_ = 0;
    std::mutex mutex_;
    std::vector<int> open_;             // under mutex_
    std::vector<std::thread> threads_;  // the acceptor's, then the destructor's
    std::thread acceptor_;
};

}  // namespace holdfast::net
