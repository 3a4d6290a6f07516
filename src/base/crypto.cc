#include "base/crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "base/check.h"
#include "base/text/hex.h"

namespace holdfast::base {

std::uint64_t RandomBits::operator()() {
    if (next_ == words_.size()) {
        // Without random bits no token is safe.
        CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(words_.data()), sizeof words_) == 1);
        next_ = 0;
    }
    const std::uint64_t word = words_[next_];
    words_[next_++] = 0;  // what was given out is not kept
    return word;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string hmac_sha256(std::string_view secret, std::string_view message) {
    std::string digest(hmac_bytes, '\0');
    unsigned size = 0;
    CHECK(::HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                 reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                 reinterpret_cast<unsigned char*>(digest.data()), &size) != nullptr);
    CHECK(size == hmac_bytes);
    return digest;
}

void Sha256::Closer::operator()(evp_md_ctx_st* context) const {
    EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
    CHECK(context_);
    CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

void Sha256::update(std::string_view bytes) {
    CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

Sha256::Digest Sha256::finish() {
    Digest digest{};
    unsigned size = 0;
    CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1);
    CHECK(size == digest.size());
    return digest;
}

Sha256::Digest sha256(std::string_view bytes) {
    Sha256 hash;
    hash.update(bytes);
    return hash.finish();
}

std::string sha256_hex(std::string_view bytes) {
    return to_hex(sha256(bytes));
}

}  // namespace holdfast::base
