#include "base/random.h"

#include <openssl/rand.h>

#include "base/check.h"

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

}  // namespace holdfast::base
