#include "net/tls/tls_trust.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/check.h"

namespace holdfast::net {

namespace {

base::Result<void> trust_file(SSL_CTX& context, const std::string& path) {
    if (::access(path.c_str(), R_OK) != 0) {
        return base::fail("cannot read the CA certificates " + path + ": " + strerror(errno));
    }
    if (SSL_CTX_load_verify_file(&context, path.c_str()) != 1) {
        return base::fail(path + " holds no certificate in PEM form");
    }
    return {};
}

}  // namespace

void TlsTrust::Free::operator()(ssl_ctx_st* context) const {
    SSL_CTX_free(context);
}

base::Result<std::shared_ptr<const TlsTrust>> TlsTrust::load(const std::string& ca_file,
                                                             Protocol protocol,
                                                             const TlsFiles& own) {
    const std::string_view spoken = protocol == Protocol::http2 ? "\x02h2" : "\x08http/1.1";
    Handle context(SSL_CTX_new(TLS_client_method()));
    CHECK(context);
    CHECK(SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) == 1);
    SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                        SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                        SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    CHECK(SSL_CTX_set_alpn_protos(context.get(),
                                  reinterpret_cast<const unsigned char*>(spoken.data()),
                                  static_cast<unsigned>(spoken.size())) == 0);
    ERR_clear_error();
    if (!ca_file.empty()) {
        TRY(trust_file(*context, ca_file));
    } else if (SSL_CTX_set_default_verify_paths(context.get()) != 1) {
        return base::fail("the system's CA certificates cannot be found");
    }
    if (!own.certificate_file.empty()) TRY(use_certificate(*context, own));
    return std::shared_ptr<const TlsTrust>(new TlsTrust(std::move(context)));
}

}  // namespace holdfast::net
