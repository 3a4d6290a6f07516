#pragma once

// TlsTrust: the certificates that a client trusts, and the one that it shows itself, if any.
//
// Thread safety: every method from any thread.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "net/tls/tls_context.h"

namespace holdfast::net {

class TlsTrust {
  public:
    // What the client offers by ALPN.
    enum class Protocol : std::uint8_t { http1, http2 };

    // Trusts servers whose certificate is signed by one in `ca_file` (PEM), or by one of the
    // system's if `ca_file` is empty. TLS 1.2 and later. Shows the certificate in `own` to servers
    // that ask for one, unless its names are empty. The error names the file and what is wrong with
    // it.
    [[nodiscard]] static base::Result<std::shared_ptr<const TlsTrust>> load(
        const std::string& ca_file, Protocol protocol = Protocol::http1, const TlsFiles& own = {});

    [[nodiscard]] ssl_ctx_st& native() const { return *context_; }

  private:
    struct Free {
        void operator()(ssl_ctx_st* context) const;
    };
    using Handle = std::unique_ptr<ssl_ctx_st, Free>;

    explicit TlsTrust(Handle context) : context_(std::move(context)) {}

    Handle context_;
};

}  // namespace holdfast::net
