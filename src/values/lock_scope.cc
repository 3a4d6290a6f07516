#include "values/lock_scope.h"

#include <string>
#include <variant>

namespace holdfast {

namespace values {

core::Scope to_core(const LockScope& scope) {
    struct Translate {
        core::Scope operator()(const LockScope::Named& named) const {
            return core::Scope::named(named.name);
        }
        core::Scope operator()(const LockScope::Semaphore& semaphore) const {
            return core::Scope::semaphore(semaphore.name);
        }
        core::Scope operator()(const LockScope::Path& path) const {
            return core::Scope::path(path.path);
        }
        core::Scope operator()(const LockScope::Inode& inode) const {
            return core::Scope::of_inode(inode.inode);
        }
        core::Scope operator()(const LockScope::ByteRange& range) const {
            return core::Scope::of_range(range.inode, {range.start, range.end});
        }
    };
    return std::visit(Translate{}, scope.value());
}

LockScope to_scope(const core::Scope& scope) {
    switch (scope.kind) {
        case core::ScopeKind::named: return LockScope::Named{std::string(scope.name)};
        case core::ScopeKind::path: return LockScope::Path{std::string(scope.name)};
        case core::ScopeKind::inode: return LockScope::Inode{scope.inode};
        case core::ScopeKind::range:
            return LockScope::ByteRange{scope.inode, scope.range.start, scope.range.end};
        case core::ScopeKind::semaphore: break;
    }
    return LockScope::Semaphore{std::string(scope.name)};
}

}  // namespace values

bool LockScope::covers(const LockScope& other) const {
    return values::to_core(*this).covers(values::to_core(other));
}

std::string LockScope::to_text() const {
    return core::to_text(values::to_core(*this));
}

std::optional<LockScope> LockScope::parse(std::string_view text) {
    const auto scope = core::parse_scope(text);
    return scope ? std::optional(values::to_scope(*scope)) : std::nullopt;
}

}  // namespace holdfast
