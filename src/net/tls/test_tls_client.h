#pragma once

// TestTlsClient: a TestClient that speaks TLS, for tests. Its TLS works on memory, so that a test
// decides how the bytes cross the network.

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "net/loop/test_client.h"

namespace holdfast::net {

struct TestTlsOptions {
    int version_max = TLS1_3_VERSION;
    std::string_view protocols = "\x02h2\x08http/1.1";  // offered by ALPN
    std::size_t slice_bytes = std::size_t{1} << 20;     // sent at a time
    int receive_buffer_bytes = 0;
};

class TestTlsClient final : public TestClient {
  public:
    explicit TestTlsClient(const Endpoint& server, const TestTlsOptions& options = {})
        : TestClient(server, options.receive_buffer_bytes),
          slice_bytes_(options.slice_bytes),
          context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
        SSL_CTX_set_security_level(context_.get(), 0);  // or it would not even ask for TLS 1.1
        SSL_CTX_set_min_proto_version(context_.get(), TLS1_VERSION);
        SSL_CTX_set_max_proto_version(context_.get(), options.version_max);
        stream_.reset(SSL_new(context_.get()));
        received_ = BIO_new(BIO_s_mem());
        to_send_ = BIO_new(BIO_s_mem());
        SSL_set_bio(stream_.get(), received_, to_send_);
        SSL_set_alpn_protos(stream_.get(),
                            reinterpret_cast<const unsigned char*>(options.protocols.data()),
                            static_cast<unsigned>(options.protocols.size()));
        SSL_set_connect_state(stream_.get());
    }

    // False if the server refuses.
    bool shake_hands() {
        int returned;
        while ((returned = SSL_do_handshake(stream_.get())) != 1) {
            const bool waits = SSL_get_error(stream_.get(), returned) == SSL_ERROR_WANT_READ;
            if (!flush() || !waits || !fill()) return false;
        }
        return flush();
    }

    // The bytes with which the handshake begins. The caller sends them.
    std::string hello() {
        SSL_do_handshake(stream_.get());
        return taken_from(to_send_);
    }

    // Sends bytes as they are, like a client that does not speak TLS or was cut off.
    void send_raw(std::string_view bytes) {
        while (!bytes.empty()) {
            const auto count = TestClient::write_some(bytes.substr(0, slice_bytes_));
            ASSERT_GT(count, 0) << "the peer takes no more";
            bytes.remove_prefix(static_cast<std::size_t>(count));
        }
    }

    [[nodiscard]] std::string common_name() const {
        std::array<char, 64> name{};
        X509* const certificate = SSL_get0_peer_certificate(stream_.get());
        if (!certificate) return "";
        X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name.data(),
                                  name.size());
        return name.data();
    }
    [[nodiscard]] std::string version() const { return SSL_get_version(stream_.get()); }
    [[nodiscard]] std::string protocol() const {
        const unsigned char* name = nullptr;
        unsigned size = 0;
        SSL_get0_alpn_selected(stream_.get(), &name, &size);
        return {reinterpret_cast<const char*>(name), size};
    }
    // Whether the server has said that it has finished, so that it was not just cut off.
    [[nodiscard]] bool was_told_the_end() const {
        return (SSL_get_shutdown(stream_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
    }

    // Asks the server for new keys, which makes it send while it receives.
    void ask_for_new_keys() {
        ASSERT_EQ(1, SSL_key_update(stream_.get(), SSL_KEY_UPDATE_REQUESTED));
        ASSERT_EQ(1, SSL_do_handshake(stream_.get()));
        flush();
    }

    // Ends its side of TLS but still receives.
    void finish_sending() override {
        SSL_shutdown(stream_.get());
        flush();
    }
    // Closes the socket without ending TLS.
    void cut_off() { TestClient::finish_sending(); }

  protected:
    ssize_t write_some(std::string_view bytes) override {
        std::size_t count = 0;
        if (!shake_hands()) return -1;
        if (SSL_write_ex(stream_.get(), bytes.data(), bytes.size(), &count) != 1) return -1;
        return flush() ? static_cast<ssize_t>(count) : -1;
    }

    ssize_t read_some(std::span<char> buffer) override {
        std::size_t count = 0;
        while (SSL_read_ex(stream_.get(), buffer.data(), buffer.size(), &count) != 1) {
            const bool waits = SSL_get_error(stream_.get(), 0) == SSL_ERROR_WANT_READ;
            if (!waits || !flush() || !fill()) return 0;
        }
        return static_cast<ssize_t>(count);
    }

  private:
    static std::string taken_from(BIO* memory) {
        std::string bytes(BIO_ctrl_pending(memory), '\0');
        if (!bytes.empty()) BIO_read(memory, bytes.data(), static_cast<int>(bytes.size()));
        return bytes;
    }

    bool flush() {
        const std::string bytes = taken_from(to_send_);
        for (std::size_t sent = 0; sent < bytes.size();) {
            const auto slice = std::string_view(bytes).substr(sent, slice_bytes_);
            const auto count = TestClient::write_some(slice);
            if (count <= 0) return false;
            sent += static_cast<std::size_t>(count);
        }
        return true;
    }

    bool fill() {
        std::array<char, 16384> buffer;
        const auto count = TestClient::read_some(buffer);
        if (count <= 0) return false;
        return BIO_write(received_, buffer.data(), static_cast<int>(count)) == count;
    }

    std::size_t slice_bytes_;
    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
    std::unique_ptr<SSL, decltype(&SSL_free)> stream_{nullptr, SSL_free};
    BIO* received_ = nullptr;  // the stream's
    BIO* to_send_ = nullptr;   // the stream's
};

}  // namespace holdfast::net
