#include "files/disk/md5.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace holdfast::files {

void Md5::Closer::operator()(evp_md_ctx_st* context) const {
    EVP_MD_CTX_free(context);
}

Md5::Md5() : context_(EVP_MD_CTX_new()) {
    CHECK(context_);
    if (EVP_DigestInit_ex(context_.get(), EVP_md5(), nullptr) != 1) context_.reset();
}

void Md5::update(std::string_view bytes) {
    if (context_) CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

std::optional<std::string> Md5::finish() {
    if (!context_) return std::nullopt;
    std::string digest(EVP_MAX_MD_SIZE, '\0');
    unsigned size = 0;
    CHECK(EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()),
                             &size) == 1);
    digest.resize(size);
    return digest;
}

}  // namespace holdfast::files
