#pragma once

// Scopes in the JSON of answers: as objects, and as lists of texts.

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/json/json_writer.h"
#include "base/text/percent.h"
#include "base/text/utf8.h"
#include "core/values/scope_set.h"
#include "core/values/view.h"

namespace holdfast::doors::answers {

// Appends the name of a lock or a resource. New names are UTF-8. Of one that an earlier version has stored
// and that is not, the field shows the letters that it has, and a field of its own the bytes, as they stand
// in a URL: `"name_bytes":"%FFbad"`. So no other name is taken for it.
// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): first the field, as in the text
inline void append_name(base::JsonWriter& json, std::string_view field, std::string_view name) {
    json.field(field, name);
    if (!base::is_utf8(name)) json.field("name_bytes", base::percent_encode(name));
}

// Appends a field of this name: `{"kind":"range","inode":7,"start":0,"end":4096}`. A range that
// reaches to the end of the file has no `end`.
inline void append_scope(base::JsonWriter& json, std::string_view name, const core::Scope& scope) {
    json.begin_object(name).field("kind", core::to_text(scope.kind));
    if (!scope.is_of_inode()) {
        append_name(json, scope.kind == core::ScopeKind::path ? "path" : "name", scope.name);
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

// `"scopes":["a","path:/x"]`, and if one of them is not UTF-8 the bytes of all: `"scopes_bytes":["a",..]`.
inline void append_scope_texts(base::JsonWriter& json,
                               const std::vector<core::SetMember>& members) {
    json.begin_array("scopes");
    for (const core::SetMember& member : members) json.element(core::to_text(member.scope));
    json.end_array();
    const bool is_text = std::ranges::all_of(
        members, [](const core::SetMember& member) { return base::is_utf8(member.scope.name); });
    if (is_text) return;
    json.begin_array("scopes_bytes");
    for (const core::SetMember& member : members) {
        json.element(base::percent_encode(core::to_text(member.scope)));
    }
    json.end_array();
}

// The same for a lease or a wait; nothing if it is on one scope. `members` is the text of the set. Only
// scopes that `readable` includes; null: all of them.
inline void append_scope_texts(base::JsonWriter& json, std::string_view members,
                               const core::ScopeFilter* readable) {
    if (members.empty()) return;
    std::vector<core::SetMember> shown = members_of(members);
    std::erase_if(shown, [readable](const core::SetMember& member) {
        return readable != nullptr && !readable->includes(member.scope);
    });
    append_scope_texts(json, shown);
}

}  // namespace holdfast::doors::answers
