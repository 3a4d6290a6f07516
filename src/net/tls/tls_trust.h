#pragma once

// TlsTrust: the certificates that a client trusts.
//
// Thread safety: every method from any thread.

#include <memory>
#include <string>
#include <utility>

#include "base/result.h"

struct ssl_ctx_st;  // NOLINT(readability-identifier-naming): OpenSSL's

namespace holdfast::net {

class TlsTrust {
  public:
    // Trusts servers whose certificate is signed by one in `ca_file` (PEM), or by one of the
    // system's if `ca_file` is empty. TLS 1.2 and later, HTTP/1.1 by ALPN. The error names the file
    // and what is wrong with it.
    [[nodiscard]] static base::Result<std::shared_ptr<const TlsTrust>> load(
        const std::string& ca_file);

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
