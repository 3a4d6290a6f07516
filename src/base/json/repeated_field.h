#pragma once

// A field that an object of a request has twice. JSON does not say which of the two counts, so a
// program that checks a request and one that carries it out may read different ones. Such a request is
// refused.

#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::base {

[[nodiscard]] inline tl::unexpected<Error> fail_repeated(std::string_view name) {
    return fail("the field \"" + std::string(name.substr(0, 64)) + "\" comes twice");
}

}  // namespace holdfast::base
