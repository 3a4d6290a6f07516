#pragma once

// The conflict table of docs/protocols/scopes.md, written out by hand. It uses nothing of the
// engine but the plain data: what it says must be found by reading it beside that table.

#include "core/scope.h"

namespace holdfast::model {

// Whether both are queued for in the same line: one name of one kind, or one inode with all its
// ranges.
[[nodiscard]] inline bool is_same_lock(const core::Scope& a, const core::Scope& b) {
    using core::ScopeKind;
    const bool a_is_of_inode = a.kind == ScopeKind::inode || a.kind == ScopeKind::range;
    const bool b_is_of_inode = b.kind == ScopeKind::inode || b.kind == ScopeKind::range;
    if (a_is_of_inode || b_is_of_inode) {
        return a_is_of_inode && b_is_of_inode && a.inode == b.inode;
    }
    return a.kind == b.kind && a.name == b.name;
}

// Whether the two have something in common.
[[nodiscard]] inline bool is_overlapping(const core::Scope& a, const core::Scope& b) {
    if (!is_same_lock(a, b)) return false;
    if (a.kind != core::ScopeKind::range || b.kind != core::ScopeKind::range) return true;
    // Half-open: [0,10) and [10,20) are neighbours, not rivals.
    return !(a.range.end <= b.range.start || b.range.end <= a.range.start);
}

// Whether two holds cannot be at the same time. Not for semaphores: those count permits.
[[nodiscard]] inline bool is_excluding(const core::Scope& a, core::Mode a_mode,
                                       const core::Scope& b, core::Mode b_mode) {
    if (a_mode == core::Mode::shared && b_mode == core::Mode::shared) return false;
    return is_overlapping(a, b);
}

}  // namespace holdfast::model
