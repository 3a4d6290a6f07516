#pragma once

// Whether two requests conflict: rules C1 to C5 of rules.md, word by word.
//
// The engine has its own answer to the same question (core::Scope, core::Range). This one shares
// no code with it.

#include "core/values/scope.h"

namespace holdfast::model {

// Rule C5: an inode and all its ranges are one lock to people; anything else is its own.
[[nodiscard]] inline bool is_same_lock(const core::Scope& a, const core::Scope& b) {
    using core::ScopeKind;
    const bool is_a_of_inode = a.kind == ScopeKind::inode || a.kind == ScopeKind::range;
    const bool is_b_of_inode = b.kind == ScopeKind::inode || b.kind == ScopeKind::range;
    if (is_a_of_inode || is_b_of_inode) {
        return is_a_of_inode && is_b_of_inode && a.inode == b.inode;
    }
    return a.kind == b.kind && a.name == b.name;
}

// Whether both would lock a common part of the same thing.
[[nodiscard]] inline bool is_overlapping(const core::Scope& a, const core::Scope& b) {
    using core::ScopeKind;
    if (!is_same_lock(a, b)) return false;
    if (a.kind != ScopeKind::range || b.kind != ScopeKind::range) return true;
    // Half-open: they are apart if one begins where the other has ended.
    const bool is_apart = a.range.end <= b.range.start || b.range.end <= a.range.start;
    return !is_apart;
}

// Whether two leases exclude each other. Not for semaphores: these count their permits.
[[nodiscard]] inline bool is_excluding(const core::Scope& a, core::Mode mode_a,
                                       const core::Scope& b, core::Mode mode_b) {
    const bool are_both_shared = mode_a == core::Mode::shared && mode_b == core::Mode::shared;
    return is_overlapping(a, b) && !are_both_shared;
}

}  // namespace holdfast::model
