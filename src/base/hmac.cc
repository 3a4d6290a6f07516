#include "base/hmac.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/check.h"

namespace holdfast::base {

std::string hmac_sha256(std::string_view secret, std::string_view message) {
    std::string digest(hmac_bytes, '\0');
    unsigned size = 0;
    CHECK(::HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                 reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                 reinterpret_cast<unsigned char*>(digest.data()), &size) != nullptr);
    CHECK(size == hmac_bytes);
    return digest;
}

}  // namespace holdfast::base
