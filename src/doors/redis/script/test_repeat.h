#pragma once

// Shared by the tests of scripts: hostile scripts repeat something.

#include <string>
#include <string_view>

namespace holdfast::doors::redis {

inline std::string repeat(std::string_view text, int times) {
    std::string all;
    for (int time = 0; time < times; ++time) all += text;
    return all;
}

}  // namespace holdfast::doors::redis
