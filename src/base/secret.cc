#include "base/secret.h"

#include <openssl/crypto.h>

namespace holdfast::base {

bool equal_in_constant_time(std::string_view a, std::string_view b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace holdfast::base
