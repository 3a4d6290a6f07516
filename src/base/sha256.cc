#include "base/sha256.h"

#include <openssl/evp.h>

#include "base/check.h"
#include "base/text/hex.h"

namespace holdfast::base {

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
