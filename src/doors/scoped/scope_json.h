#pragma once

// Scopes in JSON: `{"kind":"range","inode":7,"start":0,"end":4096}`, or the text of one,
// `"range:7:0-4096"`.

#include <optional>
#include <string>
#include <string_view>

#include "base/json/json_object.h"
#include "base/json/json_writer.h"
#include "base/result.h"
#include "core/values/scope.h"
#include "doors/answers/scope_object.h"

namespace holdfast::doors::scoped {

// A scope that owns its name.
struct OwnedScope {
    core::ScopeKind kind = core::ScopeKind::named;
    std::string name;
    std::uint64_t inode = 0;
    core::Range range;

    // Valid as long as this object is neither moved nor changed.
    [[nodiscard]] core::Scope view() const {
        return {.kind = kind, .name = name, .inode = inode, .range = range};
    }
};

// Fails with a sentence about the fault.
[[nodiscard]] base::Result<OwnedScope> read_scope(const base::JsonTextOrObject& value);

// Writing one: doors/answers/scope_object.h.
using answers::append_scope;

}  // namespace holdfast::doors::scoped
