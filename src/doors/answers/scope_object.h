#pragma once

// Scopes in the JSON of answers: as objects, and as lists of texts.

#include <string_view>
#include <vector>

#include "base/json/json_writer.h"
#include "core/values/scope_set.h"
#include "core/values/view.h"

namespace holdfast::doors::answers {

// Appends a field of this name: `{"kind":"range","inode":7,"start":0,"end":4096}`. A range that
// reaches to the end of the file has no `end`.
inline void append_scope(base::JsonWriter& json, std::string_view name, const core::Scope& scope) {
    json.begin_object(name).field("kind", core::to_text(scope.kind));
    if (!scope.is_of_inode()) {
        json.field(scope.kind == core::ScopeKind::path ? "path" : "name", scope.name);
    } else {
        json.field("inode", scope.inode);
    }
    if (scope.kind == core::ScopeKind::range) {
        json.field("start", scope.range.start);
        if (scope.range.end != core::Range::end_of_file) json.field("end", scope.range.end);
    }
    json.end_object();
}

// The members of a set, from its text. Empty if the text is.
[[nodiscard]] inline std::vector<core::SetMember> members_of(std::string_view text) {
    if (text.empty()) return {};
    return core::parse_set(text).value_or(std::vector<core::SetMember>());
}

// `"scopes":["a","path:/x"]` of a lease or a wait on several scopes; nothing if it is on one. `members`
// is the text of the set. Only scopes that `readable` includes; null: all of them.
inline void append_scope_texts(base::JsonWriter& json, std::string_view members,
                               const core::ScopeFilter* readable) {
    if (members.empty()) return;
    json.begin_array("scopes");
    for (const core::SetMember& member : members_of(members)) {
        const bool is_shown = readable == nullptr || readable->includes(member.scope);
        if (is_shown) json.element(core::to_text(member.scope));
    }
    json.end_array();
}

}  // namespace holdfast::doors::answers
