#pragma once

// The words of one command of a scenario.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/values/ids.h"
#include "core/values/scope.h"
#include "core/values/time.h"

namespace holdfast::scenarios {

// A command taken apart: `verb [scope] [options]`. Views point into the command's text.
struct Words {
    std::string_view verb;
    std::string_view object;  // a scope, or the name of who connects
    std::string_view by;
    core::Mode mode = core::Mode::exclusive;
    std::uint32_t permits = 1;
    core::Duration grace{0};
    core::Duration memory{0};
    std::optional<core::Duration> ttl;
    std::optional<core::Duration> within;
    std::optional<core::Fence> token;
    bool keep = false;
};

// Takes `command` apart. The error says which word is not understood.
[[nodiscard]] base::Result<Words> parse_words(std::string_view command);

// `job` is the name job; anything with a colon is a scope's text form.
[[nodiscard]] base::Result<core::Scope> parse_object(std::string_view object);

// The reverse of parse_object.
[[nodiscard]] std::string format_scope(const core::Scope& scope);

}  // namespace holdfast::scenarios
