#pragma once

// The words of one command of a scenario.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/values/ids.h"
#include "core/values/scope.h"

namespace holdfast::scenarios {

// The parts of a command: `verb [scope] [options]`. Views point into the text of the command.
struct Words {
    std::string_view verb;
    std::string_view object;  // a scope, or the owner that connects
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

// Splits `command` into its parts. The error names the word that is not understood.
[[nodiscard]] base::Result<Words> parse_words(std::string_view command);

// `job` is the name job; anything with a colon is a scope's text form.
[[nodiscard]] base::Result<core::Scope> parse_object(std::string_view object);

// The reverse of parse_object.
[[nodiscard]] std::string format_scope(const core::Scope& scope);

}  // namespace holdfast::scenarios
