#include "base/secret.h"

#include <cstddef>

namespace holdfast::base {

bool equal_in_constant_time(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    // Volatile, so that the compiler may not find out that one difference settles it.
    volatile unsigned char difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
    }
    return difference == 0;
}

}  // namespace holdfast::base
