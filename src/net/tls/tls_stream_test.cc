// What a TLS stream waits for when its socket is full.

#include "net/tls/tls_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "net/tls/test_certificate.h"

namespace holdfast::net {
namespace {

class TlsStreamTest : public testing::Test {
  protected:
    TlsStreamTest() {
        EXPECT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends_));
        stream_ = std::make_unique<TlsStream>(*context_, ends_[0]);
        SSL_set_fd(client_.get(), ends_[1]);
        SSL_set_connect_state(client_.get());
    }
    ~TlsStreamTest() override {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }

    IoStatus receive() { return stream_->receive(buffer_).status; }

    void shake_hands() {
        for (int i = 0; i < 10 && stream_->is_shaking_hands(); ++i) {
            SSL_do_handshake(client_.get());
            EXPECT_EQ(IoStatus::would_block, receive());
        }
        ASSERT_FALSE(stream_->is_shaking_hands());
    }

    // Fills the socket to the client with bytes that are not TLS.
    void fill() {
        while (::send(ends_[0], "x", 1, MSG_NOSIGNAL) == 1) {
        }
    }
    // The bytes that the client's socket has received.
    std::string drain() {
        std::string all;
        ssize_t count;
        while ((count = ::recv(ends_[1], buffer_.data(), buffer_.size(), 0)) > 0) {
            all.append(buffer_.data(), static_cast<std::size_t>(count));
        }
        return all;
    }

    TestCertificate certificate_;
    std::shared_ptr<const TlsContext> context_ = TlsContext::load(certificate_.files()).value();
    int ends_[2] = {-1, -1};
    std::unique_ptr<TlsStream> stream_;
    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> client_context_{
        SSL_CTX_new(TLS_client_method()), SSL_CTX_free};
    std::unique_ptr<SSL, decltype(&SSL_free)> client_{SSL_new(client_context_.get()), SSL_free};
    std::vector<char> buffer_ = std::vector<char>(std::size_t{64} * 1024);
};

TEST_F(TlsStreamTest, WaitsToSendWhileItReceivesAHandshake) {
    EXPECT_EQ(IoStatus::would_block, receive());
    EXPECT_EQ(EPOLLIN, static_cast<int>(stream_->receive_events()));
    SSL_do_handshake(client_.get());
    fill();
    EXPECT_EQ(IoStatus::would_block, receive());
    EXPECT_EQ(EPOLLOUT, static_cast<int>(stream_->receive_events()));
    drain();
    EXPECT_EQ(IoStatus::would_block, receive());
    EXPECT_EQ(EPOLLIN, static_cast<int>(stream_->receive_events()));
    shake_hands();
}

TEST_F(TlsStreamTest, WaitsToReceiveWhileItWouldSendBeforeTheHandshake) {
    EXPECT_EQ(IoStatus::would_block, stream_->send("early").status);
    EXPECT_EQ(EPOLLIN, static_cast<int>(stream_->send_events()));
    for (int i = 0; i < 10 && stream_->is_shaking_hands(); ++i) {
        SSL_do_handshake(client_.get());
        EXPECT_NE(IoStatus::failed, stream_->send("early").status);
    }
    EXPECT_EQ(EPOLLOUT, static_cast<int>(stream_->send_events()));
    EXPECT_EQ(5, SSL_read(client_.get(), buffer_.data(), 100));
}

TEST_F(TlsStreamTest, SendsWhatItCouldNotWithMoreBehindIt) {
    shake_hands();
    drain();
    fill();
    std::string text = "first";
    EXPECT_EQ(IoStatus::would_block, stream_->send(text).status);
    EXPECT_EQ(EPOLLOUT, static_cast<int>(stream_->send_events()));
    drain();
    const std::string moved = text + " and second";
    EXPECT_EQ(moved.size(), stream_->send(moved).bytes);
}

TEST_F(TlsStreamTest, TriesItsFarewellAgainUntilItIsSent) {
    shake_hands();
    drain();
    fill();
    EXPECT_FALSE(stream_->finish_sending());
    EXPECT_EQ(EPOLLOUT, static_cast<int>(stream_->send_events()));
    EXPECT_FALSE(stream_->finish_sending());
    drain();
    EXPECT_TRUE(stream_->finish_sending());
    EXPECT_NE("", drain());
    EXPECT_TRUE(stream_->finish_sending());
    EXPECT_EQ("", drain()) << "it is said once";
}

TEST_F(TlsStreamTest, HoldsNothingBackThatItReceived) {
    shake_hands();
    const std::string record(TlsStream::record_bytes_max, 'r');
    ASSERT_EQ(static_cast<int>(record.size()),
              SSL_write(client_.get(), record.data(), static_cast<int>(record.size())));
    ASSERT_EQ(1, SSL_write(client_.get(), "x", 1));
    EXPECT_EQ(record.size(), stream_->receive(std::span(buffer_).first(record.size())).bytes);
    char next;
    EXPECT_EQ(1, ::recv(ends_[0], &next, 1, MSG_PEEK)) << "the kernel knows of more";
    EXPECT_EQ(1u, stream_->receive(buffer_).bytes);
    EXPECT_EQ(-1, ::recv(ends_[0], &next, 1, MSG_PEEK));
    EXPECT_EQ(IoStatus::would_block, receive());
}

TEST_F(TlsStreamTest, FailsWithoutASignalWhenThePeerIsGone) {
    shake_hands();
    ::close(std::exchange(ends_[1], ::open("/dev/null", O_RDONLY | O_CLOEXEC)));
    EXPECT_EQ(IoStatus::failed, stream_->send("anybody?").status);
    EXPECT_TRUE(stream_->finish_sending());
}

}  // namespace
}  // namespace holdfast::net
