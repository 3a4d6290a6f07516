#pragma once

// What a lease in an event is on: one scope, or several.

#include <algorithm>
#include <vector>

#include "core/values/request.h"

namespace holdfast::service {

// All scopes of a lease, at least one. Their names point into the texts of the lease.
[[nodiscard]] inline std::vector<core::Scope> scopes_of(const core::LeaseView& lease) {
    std::vector<core::Scope> scopes;
    const auto members = core::parse_set(lease.members);
    if (!members || members->empty()) return {lease.scope};
    scopes.reserve(members->size());
    for (const core::SetMember& member : *members) scopes.push_back(member.scope);
    return scopes;
}

// Whether `is_meant` is true of a scope of the lease. Usually allocates nothing.
template <class Predicate>
[[nodiscard]] bool is_any_scope(const core::LeaseView& lease, Predicate is_meant) {
    if (lease.members.empty()) return is_meant(lease.scope);
    const std::vector<core::Scope> scopes = scopes_of(lease);
    return std::any_of(scopes.begin(), scopes.end(), is_meant);
}

// Whether two scopes have something in common: the same name, path or semaphore, or bytes of one
// inode.
[[nodiscard]] inline bool is_same_lock(const core::Scope& one, const core::Scope& other) {
    if (one.is_of_inode() || other.is_of_inode()) {
        return one.is_of_inode() && other.is_of_inode() && one.inode == other.inode &&
               one.range.overlaps(other.range);
    }
    return one.kind == other.kind && one.name == other.name;
}

}  // namespace holdfast::service
