#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace holdfast::base {

void check_failed(const char* file, int line, const char* promise) {
    std::fprintf(stderr, "%s:%d: broken promise: %s\n", file, line, promise);
    std::abort();
}

}  // namespace holdfast::base
