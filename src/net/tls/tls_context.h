#pragma once

// TlsContext: the certificate that a server shows. TlsSource: gives each new connection the current
// one.
//
// A context never changes. A new certificate is a new context: the source gives it to connections
// that are accepted later. Open connections are not affected.
//
// Thread safety: every method from any thread.

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"

struct ssl_ctx_st;  // NOLINT(readability-identifier-naming): OpenSSL's

namespace holdfast::net {

struct TlsFiles {
    std::string certificate_file;  // PEM: the server's own, then the chain to its issuer
    std::string key_file;          // PEM, not encrypted
};

// Lets the context, of a server or of a client, show this certificate. The error names the file and
// what is wrong with it.
[[nodiscard]] base::Result<void> use_certificate(ssl_ctx_st& context, const TlsFiles& files);

// When the certificate that the context shows ends; nothing: it shows none.
[[nodiscard]] std::optional<std::chrono::system_clock::time_point> end_of_certificate(
    const ssl_ctx_st& context);

class TlsContext {
  public:
    // TLS 1.2 and later, HTTP/1.1 by ALPN. The error names the file and what is wrong with it.
    [[nodiscard]] static base::Result<std::shared_ptr<const TlsContext>> load(
        const TlsFiles& files);

    [[nodiscard]] ssl_ctx_st& native() const { return *context_; }

  private:
    struct Free {
        void operator()(ssl_ctx_st* context) const;
    };
    using Handle = std::unique_ptr<ssl_ctx_st, Free>;

    explicit TlsContext(Handle context) : context_(std::move(context)) {}

    Handle context_;
};

class TlsSource {
  public:
    [[nodiscard]] static base::Result<std::unique_ptr<TlsSource>> open(TlsFiles files);

    [[nodiscard]] std::shared_ptr<const TlsContext> current() const;

    // Reads the files again. If that fails, everything stays as it was.
    [[nodiscard]] base::Result<void> reload();
    // The same in two steps, for those who read several files and replace all or nothing.
    [[nodiscard]] base::Result<std::shared_ptr<const TlsContext>> load() const {
        return TlsContext::load(files_);
    }
    void replace(std::shared_ptr<const TlsContext> context);

  private:
    TlsSource(TlsFiles files, std::shared_ptr<const TlsContext> context)
        : files_(std::move(files)), context_(std::move(context)) {}

    const TlsFiles files_;
    mutable std::mutex mutex_;
    std::shared_ptr<const TlsContext> context_;  // under mutex_
};

}  // namespace holdfast::net
