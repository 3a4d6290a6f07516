#include "net/tls/tls_stream.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/check.h"

namespace holdfast::net {

namespace {

constexpr std::string_view plain_http_answer =
    "HTTP/1.1 400 Bad Request\r\n"
    "Content-Type: application/json\r\n"
    "Content-Length: 62\r\n"
    "Connection: close\r\n"
    "\r\n"
    "{\"error\":\"this port speaks TLS: the address begins https://\"}\n";

// A BIO for the socket. OpenSSL's own would raise SIGPIPE if the peer is dead; this one does not. A
// failure is -1, as OpenSSL's is: for SSL_shutdown(), 0 would mean success.

TlsSocket& socket_of(BIO* bio) {
    return *static_cast<TlsSocket*>(BIO_get_data(bio));
}

bool is_worth_retrying() {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

int write_socket(BIO* bio, const char* bytes, int size) {
    BIO_clear_retry_flags(bio);
    const ssize_t count =
        ::send(socket_of(bio).descriptor, bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
    if (count < 0 && is_worth_retrying()) BIO_set_retry_write(bio);
    return static_cast<int>(count);
}

int read_socket(BIO* bio, char* buffer, int size) {
    TlsSocket& socket = socket_of(bio);
    BIO_clear_retry_flags(bio);
    const ssize_t count = ::recv(socket.descriptor, buffer, static_cast<std::size_t>(size), 0);
    if (count < 0 && is_worth_retrying()) BIO_set_retry_read(bio);
    if (count == 0) socket.is_ended = true;
    if (count > 0 && socket.first_byte == '\0') socket.first_byte = buffer[0];
    return static_cast<int>(count);
}

// OpenSSL's signature. NOLINTNEXTLINE(google-runtime-int)
long control_socket(BIO* bio, int command, long, void*) {
    if (command == BIO_CTRL_FLUSH) return 1;
    if (command == BIO_CTRL_EOF) return socket_of(bio).is_ended ? 1 : 0;
    return 0;
}

const BIO_METHOD* socket_method() {
    static const BIO_METHOD* const method = [] {
        BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
        CHECK(made);
        BIO_meth_set_write(made, write_socket);
        BIO_meth_set_read(made, read_socket);
        BIO_meth_set_ctrl(made, control_socket);
        return made;
    }();
    return method;
}

}  // namespace

void TlsStream::Free::operator()(ssl_st* stream) const {
    SSL_free(stream);
}

TlsStream::TlsStream(const TlsContext& context, int descriptor)
    : socket_{.descriptor = descriptor}, is_client_(false), stream_(SSL_new(&context.native())) {
    attach();
    SSL_set_accept_state(stream_.get());
}

TlsStream::TlsStream(const TlsTrust& trust, const std::string& host, int descriptor)
    : socket_{.descriptor = descriptor}, is_client_(true), stream_(SSL_new(&trust.native())) {
    attach();
    receive_events_ = EPOLLOUT;  // a client speaks first
    SSL_set_connect_state(stream_.get());
    // A certificate has IP addresses in a field of their own, and SNI is for names only.
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(stream_.get()), host.c_str()) == 1) return;
    ERR_clear_error();
    CHECK(SSL_set1_host(stream_.get(), host.c_str()) == 1);
    SSL_set_tlsext_host_name(stream_.get(), host.c_str());
}

void TlsStream::attach() {
    BIO* const bio = BIO_new(socket_method());
    CHECK(stream_ && bio);
    BIO_set_data(bio, &socket_);
    BIO_set_init(bio, 1);
    SSL_set_bio(stream_.get(), bio, bio);
}

IoResult TlsStream::receive(std::span<char> buffer) {
    CHECK(buffer.size() >= record_bytes_max);
    if (state_ == State::refused) return {discard(buffer)};
    ERR_clear_error();
    std::size_t received = 0;
    const int returned = SSL_read_ex(stream_.get(), buffer.data(), buffer.size(), &received);
    note_progress();
    if (returned != 1) return {explain(returned, receive_events_)};
    receive_events_ = EPOLLIN;
    return {IoStatus::moved, received};
}

IoResult TlsStream::send(std::string_view bytes) {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
        const std::string_view rest = bytes.substr(sent);
        ERR_clear_error();
        std::size_t count = 0;
        const int returned = SSL_write_ex(stream_.get(), rest.data(), rest.size(), &count);
        note_progress();
        if (returned != 1) {
            if (explain(returned, send_events_) != IoStatus::would_block) {
                state_ = State::failed;
                return {IoStatus::failed};
            }
            return {sent > 0 ? IoStatus::moved : IoStatus::would_block, sent};
        }
        send_events_ = EPOLLOUT;
        sent += count;
    }
    return {IoStatus::moved, sent};
}

bool TlsStream::finish_sending() {
    if (state_ != State::established || std::exchange(is_finished_, true)) return true;
    ERR_clear_error();
    const int returned = SSL_shutdown(stream_.get());
    if (returned >= 0) return true;
    if (SSL_get_error(stream_.get(), returned) != SSL_ERROR_WANT_WRITE) return true;
    send_events_ = EPOLLOUT;
    is_finished_ = false;
    return false;
}

void TlsStream::note_progress() {
    if (state_ == State::shaking_hands && SSL_is_init_finished(stream_.get()) == 1) {
        state_ = State::established;
    }
}

IoStatus TlsStream::explain(int returned, std::uint32_t& events) {
    switch (SSL_get_error(stream_.get(), returned)) {
        case SSL_ERROR_WANT_READ: events = EPOLLIN; return IoStatus::would_block;
        case SSL_ERROR_WANT_WRITE: events = EPOLLOUT; return IoStatus::would_block;
        case SSL_ERROR_ZERO_RETURN: return IoStatus::ended;
        default: break;
    }
    // A TLS handshake begins with 0x16, an HTTP request with the letters of its method.
    const char first = socket_.first_byte;
    const bool is_plain = !is_client_ && first >= 'A' && first <= 'Z';
    if (state_ == State::shaking_hands && is_plain) return refuse_plain_http();
    // OpenSSL's reasons for alerts of the peer lie from 1000 on.
    const auto reason = ERR_GET_REASON(ERR_peek_error());
    if (reason > SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256) {
        alert_ = ERR_reason_error_string(ERR_peek_error());
    }
    state_ = State::failed;
    return IoStatus::failed;
}

std::string TlsStream::certificate_fault() const {
    const long verified = SSL_get_verify_result(stream_.get());  // NOLINT(google-runtime-int)
    if (!is_client_ || verified == X509_V_OK) return "";
    return X509_verify_cert_error_string(verified);
}

IoStatus TlsStream::refuse_plain_http() {
    state_ = State::refused;
    receive_events_ = EPOLLIN;
    ::send(socket_.descriptor, plain_http_answer.data(), plain_http_answer.size(), MSG_NOSIGNAL);
    ::shutdown(socket_.descriptor, SHUT_WR);
    return IoStatus::would_block;
}

// If the socket were closed while input is unread, the kernel would send a reset, which may
// overtake the answer.
IoStatus TlsStream::discard(std::span<char> buffer) {
    const ssize_t count = ::recv(socket_.descriptor, buffer.data(), buffer.size(), 0);
    if (count == 0) return IoStatus::ended;
    return count > 0 || is_worth_retrying() ? IoStatus::would_block : IoStatus::failed;
}

}  // namespace holdfast::net
