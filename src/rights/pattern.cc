#include "rights/pattern.h"

#include <optional>
#include <utility>

namespace holdfast::rights {

namespace {

std::optional<unsigned> digit_of(char c) {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10U;
    if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10U;
    return std::nullopt;
}

// The text with `%2A` and the like replaced by the bytes that they stand for.
base::Result<std::string> decode(std::string_view text) {
    std::string decoded;
    for (std::size_t index = 0; index < text.size(); ++index) {
        if (text[index] != '%') {
            decoded += text[index];
            continue;
        }
        const auto high = index + 2 < text.size() ? digit_of(text[index + 1]) : std::nullopt;
        const auto low = index + 2 < text.size() ? digit_of(text[index + 2]) : std::nullopt;
        if (!high || !low) {
            return base::fail("% needs two hexadecimal digits behind it; a percent sign is %25");
        }
        decoded += static_cast<char>(*high * 16 + *low);
        index += 2;
    }
    return decoded;
}

}  // namespace

base::Result<Pattern> Pattern::parse(std::string_view text) {
    if (text == "*") return everything();
    const auto kind = core::kind_in_front(text);
    if (kind == core::ScopeKind::inode || kind == core::ScopeKind::range) return parse_inode(text);
    Pattern pattern;
    pattern.kind_ = kind == core::ScopeKind::path        ? Kind::path
                    : kind == core::ScopeKind::semaphore ? Kind::semaphore
                                                         : Kind::name;
    if (kind) text.remove_prefix(core::to_text(*kind).size() + 1);
    pattern.is_beginning_ = text.ends_with('*');
    if (pattern.is_beginning_) text.remove_suffix(1);
    if (text.find('*') != text.npos) {
        return base::fail("a star stands only at the end of a pattern; in a name it is %2A");
    }
    if (text.empty() && !pattern.is_beginning_) return base::fail("a pattern has no name");
    TRY(pattern.text_, decode(text));
    return pattern;
}

base::Result<Pattern> Pattern::parse_inode(std::string_view text) {
    Pattern pattern;
    pattern.kind_ = Kind::inode;
    if (text == "inode:*") {
        pattern.is_beginning_ = true;
        return pattern;
    }
    const auto scope = core::parse_scope(text);
    if (!scope) {
        return base::fail(
            "inodes are written inode:7, inode:* or range:7:0-4096, without any other star");
    }
    pattern.inode_ = scope->inode;
    pattern.range_ = scope->range;
    return pattern;
}

bool Pattern::matches(std::string_view name) const {
    return is_beginning_ ? name.starts_with(text_) : name == text_;
}

bool Pattern::covers(const core::Scope& scope) const {
    using core::ScopeKind;
    switch (kind_) {
        case Kind::everything: return true;
        case Kind::name:
            return (scope.kind == ScopeKind::named || scope.kind == ScopeKind::semaphore) &&
                   matches(scope.name);
        case Kind::semaphore: return scope.kind == ScopeKind::semaphore && matches(scope.name);
        case Kind::path: return scope.kind == ScopeKind::path && matches(scope.name);
        case Kind::inode: break;
    }
    if (!scope.is_of_inode()) return false;
    return is_beginning_ || core::Scope::of_range(inode_, range_).covers(scope);
}

bool Pattern::reaches_path_below(std::string_view beginning) const {
    if (kind_ == Kind::everything) return true;
    if (kind_ != Kind::path) return false;
    const std::string_view text = text_;
    return text.starts_with(beginning) || (is_beginning_ && beginning.starts_with(text));
}

}  // namespace holdfast::rights
