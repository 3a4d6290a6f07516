#include "base/random.h"

#include <sys/random.h>

#include <cerrno>

#include "base/check.h"

namespace holdfast::base {

std::uint64_t RandomBits::operator()() {
    if (next_ == words_.size()) {
        ssize_t got = 0;
        do {
            got = getrandom(words_.data(), sizeof words_, 0);
        } while (got < 0 && errno == EINTR);
        // Without random bits no token is safe, and the kernel does not fail at this.
        CHECK(got == static_cast<ssize_t>(sizeof words_));
        next_ = 0;
    }
    const std::uint64_t word = words_[next_];
    words_[next_++] = 0;  // what was given out is not kept
    return word;
}

}  // namespace holdfast::base
