#pragma once

// The scopes of the public headers and those of the engine: the same, in other types.

#include "core/values/scope.h"
#include "holdfast/lock_scope.h"

namespace holdfast::values {

// A view of `scope`. REQUIRES: `scope` outlives the view.
[[nodiscard]] core::Scope to_core(const LockScope& scope);

[[nodiscard]] LockScope to_scope(const core::Scope& scope);

}  // namespace holdfast::values
