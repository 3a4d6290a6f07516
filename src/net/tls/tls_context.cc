#include "net/tls/tls_context.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace holdfast::net {

namespace {

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
struct FreeKey {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;

// An error with our message, followed by OpenSSL's reason.
tl::unexpected<base::Error> fault(const std::string& message) {
    const char* const reason = ERR_reason_error_string(ERR_peek_error());
    return base::fail(reason ? message + ": " + reason : message);
}

base::Result<std::unique_ptr<std::FILE, CloseFile>> open_file(const std::string& path,
                                                              const std::string& what) {
    std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "re"));
    if (!file) return base::fail("cannot read the " + what + " " + path + ": " + strerror(errno));
    return file;
}

// Without this, OpenSSL would ask for the passphrase at the terminal.
int know_no_passphrase(char*, int, int, void* was_asked) {
    *static_cast<bool*>(was_asked) = true;
    return -1;
}

base::Result<Key> read_key(const std::string& path) {
    TRY(const auto file, open_file(path, "TLS key"));
    bool was_asked = false;
    Key key(PEM_read_PrivateKey(file.get(), nullptr, know_no_passphrase, &was_asked));
    if (key) return key;
    if (was_asked) {
        return base::fail("the TLS key " + path + " is encrypted: only a plain one can be read");
    }
    return base::fail(path + " holds no private key in PEM form");
}

// A client that offers protocols must offer HTTP/1.1. A client may also offer none.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_bytes,
                    const unsigned char* offered, unsigned int offered_bytes, void*) {
    static constexpr std::string_view spoken = "\x08http/1.1";
    unsigned char* found = nullptr;
    const int status = SSL_select_next_proto(&found, chosen_bytes,
                                             reinterpret_cast<const unsigned char*>(spoken.data()),
                                             spoken.size(), offered, offered_bytes);
    if (status != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
    *chosen = found;
    return SSL_TLSEXT_ERR_OK;
}

// No renegotiation: TLS 1.3 has removed it because of attacks. An unexpected end is just an end,
// because HTTP says itself where a message ends. A connection that waits frees its buffers. Clients
// resume sessions with tickets, so the server caches no sessions.
void configure(SSL_CTX& context) {
    CHECK(SSL_CTX_set_min_proto_version(&context, TLS1_2_VERSION) == 1);
    SSL_CTX_set_options(&context, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF |
                                      SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA |
                                      SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(&context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                   SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(&context, choose_protocol, nullptr);
}

}  // namespace

void TlsContext::Free::operator()(ssl_ctx_st* context) const {
    SSL_CTX_free(context);
}

base::Result<void> use_certificate(ssl_ctx_st& context, const TlsFiles& files) {
    ERR_clear_error();
    const auto& path = files.certificate_file;
    TRY([[maybe_unused]] const auto readable, open_file(path, "TLS certificate"));
    TRY(const auto key, read_key(files.key_file));
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(&context, path.c_str()) != 1) {
        const bool no_pem = ERR_GET_REASON(ERR_peek_error()) == PEM_R_NO_START_LINE;
        if (no_pem) return base::fail(path + " holds no certificate in PEM form");
        return fault("cannot use the TLS certificate " + path);
    }
    if (X509_check_private_key(SSL_CTX_get0_certificate(&context), key.get()) != 1) {
        return base::fail("the TLS key " + files.key_file + " does not belong to the certificate " +
                          path);
    }
    if (SSL_CTX_use_PrivateKey(&context, key.get()) != 1) {
        return fault("cannot use the TLS key " + files.key_file);
    }
    return {};
}

std::optional<std::chrono::system_clock::time_point> end_of_certificate(const ssl_ctx_st& context) {
    const X509* const certificate = SSL_CTX_get0_certificate(&context);
    std::tm ends{};
    if (certificate == nullptr || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &ends) != 1) {
        return std::nullopt;
    }
    return std::chrono::system_clock::from_time_t(::timegm(&ends));
}

base::Result<std::shared_ptr<const TlsContext>> TlsContext::load(const TlsFiles& files) {
    Handle context(SSL_CTX_new(TLS_server_method()));
    CHECK(context);
    configure(*context);
    TRY(use_certificate(*context, files));
    return std::shared_ptr<const TlsContext>(new TlsContext(std::move(context)));
}

base::Result<std::unique_ptr<TlsSource>> TlsSource::open(TlsFiles files) {
    TRY(auto context, TlsContext::load(files));
    return std::unique_ptr<TlsSource>(new TlsSource(std::move(files), std::move(context)));
}

std::shared_ptr<const TlsContext> TlsSource::current() const {
    const std::lock_guard guard(mutex_);
    return context_;
}

base::Result<void> TlsSource::reload() {
    TRY(auto fresh, load());
    replace(std::move(fresh));
    return {};
}

void TlsSource::replace(std::shared_ptr<const TlsContext> context) {
    const std::lock_guard guard(mutex_);
    context_.swap(context);
}

}  // namespace holdfast::net
