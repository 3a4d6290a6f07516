#include "doors/scoped/scope_json.h"

#include <fmt/format.h>

#include <utility>

namespace holdfast::doors::scoped {

namespace {

using core::ScopeKind;
using Number = std::optional<std::uint64_t>;

constexpr const char* kinds = "named, semaphore, path, inode or range";

// The fields of the object.
struct Fields {
    std::string kind, name, path;
    Number inode, start, end;
};

// Refuses fields that belong to another kind of scope: the client probably meant that kind.
base::Result<void> refuse_strangers(const Fields& fields, ScopeKind kind) {
    const bool has_name = kind == ScopeKind::named || kind == ScopeKind::semaphore;
    const bool is_of_inode = kind == ScopeKind::inode || kind == ScopeKind::range;
    const std::pair<const char*, bool> strangers[] = {
        {"name", !fields.name.empty() && !has_name},
        {"path", !fields.path.empty() && kind != ScopeKind::path},
        {"inode", fields.inode && !is_of_inode},
        {"start", fields.start && kind != ScopeKind::range},
        {"end", fields.end && kind != ScopeKind::range}};
    for (const auto& [field, is_strange] : strangers) {
        if (!is_strange) continue;
        return base::fail("a scope of kind " + fields.kind + " has no " + field);
    }
    return {};
}

base::Result<OwnedScope> to_scope(Fields fields, ScopeKind kind) {
    const auto required = [&](const char* field) {
        return base::fail("a scope of kind " + fields.kind + " needs " + field);
    };
    TRY(refuse_strangers(fields, kind));
    OwnedScope scope{.kind = kind};
    switch (kind) {
        case ScopeKind::named:
        case ScopeKind::semaphore:
            if (fields.name.empty()) return required("name");
            scope.name = std::move(fields.name);
            break;
        case ScopeKind::path:
            if (fields.path.empty()) return required("path");
            scope.name = std::move(fields.path);
            break;
        case ScopeKind::range:
            if (!fields.start) return required("start");
            scope.range.start = *fields.start;
            scope.range.end = fields.end.value_or(core::Range::end_of_file);
            if (scope.range.start >= scope.range.end) {
                return base::fail("the start of a range must be less than its end");
            }
            [[fallthrough]];
        case ScopeKind::inode:
            if (!fields.inode) return required("inode");
            scope.inode = *fields.inode;
            break;
    }
    return scope;
}

base::Result<ScopeKind> known_kind(std::string_view text) {
    const auto kind = core::parse_kind(text);
    if (kind) return *kind;
    return base::fail("unknown kind of scope \"" + std::string(text.substr(0, 64)) +
                      "\"; there are " + kinds);
}

base::Result<OwnedScope> read_object(const std::string& object) {
    Fields fields;
    TRY(base::read_json_object(object, {{"kind", &fields.kind},
                                        {"name", &fields.name},
                                        {"path", &fields.path},
                                        {"inode", &fields.inode},
                                        {"start", &fields.start},
                                        {"end", &fields.end}}));
    if (fields.kind.empty()) return base::fail(std::string("a scope needs a kind: ") + kinds);
    TRY(const ScopeKind kind, known_kind(fields.kind));
    return to_scope(std::move(fields), kind);
}

base::Result<OwnedScope> read_text(const std::string& text) {
    const auto scope = core::parse_scope(text);
    if (scope) {
        return OwnedScope{.kind = scope->kind,
                          .name = std::string(scope->name),
                          .inode = scope->inode,
                          .range = scope->range};
    }
    const auto kind = core::kind_in_front(text);
    if (!kind) return base::fail("scope required");
    switch (*kind) {
        case ScopeKind::range:
            return base::fail(
                "a range is written range:<inode>:<start>-<end>, in whole numbers, its start less "
                "than its end; without an end it reaches to the end of the file");
        case ScopeKind::inode:
            return base::fail("an inode is written inode:<number>, a whole number, not negative");
        default:
            return base::fail(fmt::format("a scope of kind {} needs a name", core::to_text(*kind)));
    }
}

}  // namespace

base::Result<OwnedScope> read_scope(const base::JsonTextOrObject& value) {
    if (value.object) return read_object(*value.object);
    if (value.text) return read_text(*value.text);
    return base::fail("scope required");
}

}  // namespace holdfast::doors::scoped
