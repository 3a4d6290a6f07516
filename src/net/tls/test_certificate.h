#pragma once

// TestCertificate: a self-signed certificate for 127.0.0.1 and localhost and its key, in files of
// the test's own; for tests.

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>

#include "net/tls/tls_context.h"

namespace holdfast::net {

class TestCertificate {
  public:
    explicit TestCertificate(const std::string& common_name = "first") {
        static std::atomic<int> count = 0;
        base_ = ::testing::TempDir() + "holdfast_tls_" + std::to_string(::getpid()) + "_" +
                std::to_string(count++);
        renew(common_name);
    }
    ~TestCertificate() {
        ::unlink(files().certificate_file.c_str());
        ::unlink(files().key_file.c_str());
    }
    TestCertificate(const TestCertificate&) = delete;
    TestCertificate& operator=(const TestCertificate&) = delete;

    [[nodiscard]] TlsFiles files() const {
        return {.certificate_file = base_ + ".crt", .key_file = base_ + ".key"};
    }

    // Writes another certificate with another key to the same files. With a passphrase, the key is
    // encrypted.
    void renew(const std::string& common_name, const char* passphrase = nullptr) {
        const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"),
                                                                      EVP_PKEY_free);
        const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
        ASSERT_TRUE(key && certificate);
        X509* const x509 = certificate.get();
        X509_set_version(x509, X509_VERSION_3);
        ASN1_INTEGER_set(X509_get_serialNumber(x509), ++serial_);
        X509_gmtime_adj(X509_getm_notBefore(x509), -3600);
        X509_gmtime_adj(X509_getm_notAfter(x509), 24 * 3600);
        X509_set_pubkey(x509, key.get());
        X509_NAME* const name = X509_get_subject_name(x509);
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                   reinterpret_cast<const unsigned char*>(common_name.c_str()), -1,
                                   -1, 0);
        X509_set_issuer_name(x509, name);
        add_extension(x509, NID_basic_constraints, "critical,CA:TRUE");
        add_extension(x509, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
        ASSERT_GT(X509_sign(x509, key.get(), EVP_sha256()), 0);

        write(files().certificate_file,
              [&](std::FILE* file) { return PEM_write_X509(file, x509); });
        write(files().key_file, [&](std::FILE* file) {
            const EVP_CIPHER* const cipher = passphrase ? EVP_aes_128_cbc() : nullptr;
            return PEM_write_PKCS8PrivateKey(file, key.get(), cipher, nullptr, 0, nullptr,
                                             const_cast<char*>(passphrase));
        });
        ASSERT_EQ(0, ::chmod(files().key_file.c_str(), 0600));
    }

  private:
    static void add_extension(X509* x509, int kind, const char* value) {
        X509V3_CTX context;
        X509V3_set_ctx(&context, x509, x509, nullptr, nullptr, 0);
        X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value);
        ASSERT_TRUE(extension);
        X509_add_ext(x509, extension, -1);
        X509_EXTENSION_free(extension);
    }

    template <class Write>
    static void write(const std::string& path, Write write_to) {
        std::FILE* const file = std::fopen(path.c_str(), "we");
        ASSERT_TRUE(file) << path;
        EXPECT_EQ(1, write_to(file)) << path;
        std::fclose(file);
    }

    std::string base_;
    int serial_ = 0;
};

}  // namespace holdfast::net
