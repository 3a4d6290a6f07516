#pragma once

// Times in HTTP headers: `Sun, 06 Nov 1994 08:49:37 GMT`.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::doors::hengdang {

[[nodiscard]] std::string to_http_date(std::chrono::sys_seconds time);

// Nothing for any other form. (The two older ones that HTTP still allows come from nobody.)
[[nodiscard]] std::optional<std::chrono::sys_seconds> parse_http_date(std::string_view text);

}  // namespace holdfast::doors::hengdang
