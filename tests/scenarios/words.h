#pragma once

// The words of one command of a scenario.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/values/ids.h"
#include "core/values/scope.h"
#include "core/values/scope_set.h"

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
    std::string_view waiter = {};  // of the owner that waits
    bool refuse = false;           // a deadlock
};

// Splits `command` into its parts. The error names the word that is not understood.
[[nodiscard]] base::Result<Words> parse_words(std::string_view command);

// `job` is the name job; anything with a colon is a scope's text form.
[[nodiscard]] base::Result<core::Scope> parse_object(std::string_view object);

// `a,path:/b` is a set. All its members have the mode and the permits of the command.
[[nodiscard]] base::Result<std::vector<core::SetMember>> parse_objects(const Words& words);

// The reverse of parse_object.
[[nodiscard]] std::string format_scope(const core::Scope& scope);
// The same for all that a lease or a waiter is about. `members`: of a set, as in the views of core.
[[nodiscard]] std::string format_scopes(const core::Scope& scope, std::string_view members);

}  // namespace holdfast::scenarios
