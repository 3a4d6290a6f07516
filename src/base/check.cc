#include "base/check.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/log/log.h"

namespace holdfast::base {

void check_failed(const char* file, int line, const char* promise) {
    flush_log();
    char text[1024];
    const auto end =
        fmt::format_to_n(text, sizeof text, "{}:{}: broken promise: {}\n", file, line, promise);
    // So few bytes do not block a descriptor that is ready.
    pollfd watched{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    if (::poll(&watched, 1, 1000) > 0) {
        [[maybe_unused]] const auto written =
            ::write(STDERR_FILENO, text, std::min(end.size, sizeof text));
    }
    std::abort();
}

}  // namespace holdfast::base
