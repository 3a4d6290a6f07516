#include "core/values/scope.h"

#include <charconv>

namespace holdfast::core {

namespace {

std::optional<std::uint64_t> parse_number(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty())
        return std::nullopt;
    return number;
}

// `7:0-4096` or `7:4096-`.
std::optional<Scope> parse_range(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const std::size_t dash = text.find('-', colon);
    if (dash == std::string_view::npos) return std::nullopt;
    const auto inode = parse_number(text.substr(0, colon));
    const auto start = parse_number(text.substr(colon + 1, dash - colon - 1));
    const std::string_view end_text = text.substr(dash + 1);
    const auto end = end_text.empty() ? std::optional{Range::end_of_file} : parse_number(end_text);
    if (!inode || !start || !end || *start >= *end) return std::nullopt;
    return Scope::of_range(*inode, Range{*start, *end});
}

}  // namespace

bool Scope::covers(const Scope& other) const {
    if (is_of_inode() != other.is_of_inode()) return false;
    if (is_of_inode()) return inode == other.inode && range.covers(other.range);
    return kind == other.kind && name == other.name;
}

std::string_view to_text(ScopeKind kind) {
    switch (kind) {
        case ScopeKind::named: return "named";
        case ScopeKind::semaphore: return "semaphore";
        case ScopeKind::path: return "path";
        case ScopeKind::inode: return "inode";
        case ScopeKind::range: return "range";
    }
    return "";
}

std::string_view to_text(Mode mode) {
    return mode == Mode::exclusive ? "exclusive" : "shared";
}

std::optional<ScopeKind> parse_kind(std::string_view text) {
    using enum ScopeKind;
    for (const ScopeKind kind : {named, semaphore, path, inode, range}) {
        if (to_text(kind) == text) return kind;
    }
    return std::nullopt;
}

std::optional<ScopeKind> kind_in_front(std::string_view text) {
    const std::size_t colon = text.find(':');
    return colon == std::string_view::npos ? std::nullopt : parse_kind(text.substr(0, colon));
}

std::string to_text(const Scope& scope) {
    const bool is_plain_name = scope.kind == ScopeKind::named && !kind_in_front(scope.name);
    if (is_plain_name) return std::string(scope.name);
    std::string text{to_text(scope.kind)};
    text += ':';
    if (!scope.is_of_inode()) return text.append(scope.name);
    text += std::to_string(scope.inode);
    if (scope.kind == ScopeKind::inode) return text;
    text += ':' + std::to_string(scope.range.start) + '-';
    if (scope.range.end != Range::end_of_file) text += std::to_string(scope.range.end);
    return text;
}

std::optional<Scope> parse_scope(std::string_view text) {
    const auto kind = kind_in_front(text);
    const std::string_view what = kind ? text.substr(to_text(*kind).size() + 1) : text;
    if (what.empty()) return std::nullopt;
    switch (kind.value_or(ScopeKind::named)) {
        case ScopeKind::named: return Scope::named(what);
        case ScopeKind::semaphore: return Scope::semaphore(what);
        case ScopeKind::path: return Scope::path(what);
        case ScopeKind::range: return parse_range(what);
        case ScopeKind::inode: break;
    }
    const auto inode = parse_number(what);
    return inode ? std::optional(Scope::of_inode(*inode)) : std::nullopt;
}

}  // namespace holdfast::core
