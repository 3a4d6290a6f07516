#include "values/lease_request.h"

#include <unistd.h>

#include <array>

#include "base/crypto.h"
#include "base/text/hex.h"
#include "values/lock_scope.h"

namespace holdfast::values {

namespace {

constexpr std::size_t members_max = 64;  // core::Limits::set_members_max

std::optional<LockError> find_fault(const LockSetMember& member) {
    const bool is_semaphore = std::holds_alternative<LockScope::Semaphore>(member.scope.value());
    if (member.limit == 0) return InvalidLockRequest{"a limit of 0 would let nobody in"};
    if (member.limit > 1 && !is_semaphore) {
        return InvalidLockRequest{"only a name can be a semaphore: " + member.scope.to_text()};
    }
    return std::nullopt;
}

// Whether one lease cannot be on both. A lock and a semaphore cannot have the same name at a time.
bool overlap(const core::Scope& a, const core::Scope& b) {
    if (a.is_of_inode() || b.is_of_inode()) {
        return a.is_of_inode() && b.is_of_inode() && a.inode == b.inode &&
               a.range.overlaps(b.range);
    }
    const bool is_path = a.kind == core::ScopeKind::path;
    return is_path == (b.kind == core::ScopeKind::path) && a.name == b.name;
}

std::optional<LockError> find_overlap(const std::vector<LockSetMember>& members) {
    for (auto one = members.begin(); one != members.end(); ++one) {
        for (auto other = members.begin(); other != one; ++other) {
            if (!overlap(to_core(other->scope), to_core(one->scope))) continue;
            return InvalidLockRequest{other->scope.to_text() + " and " + one->scope.to_text() +
                                      " overlap: a lease is on each lock once"};
        }
    }
    return std::nullopt;
}

}  // namespace

std::string make_holder() {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
    std::string holder = std::string(host.data()) + "-" + std::to_string(::getpid()) + "-";
    base::RandomBits random;
    std::string digits;
    base::append_hex(digits, random());
    return holder + digits.substr(0, 8);
}

// A child after fork() is another process with the same thread.
const std::string& waiter_of_this_thread() {
    thread_local std::string name;
    thread_local ::pid_t process = 0;
    if (process != ::getpid()) {
        process = ::getpid();
        name = make_holder();
    }
    return name;
}

std::vector<LockSetMember> members_of(const LeaseRequest& request) {
    std::vector<LockSetMember> members = request.scopes;
    if (members.empty()) members.push_back({request.scope, request.mode, request.limit});
    for (LockSetMember& member : members) {
        const auto* const named = std::get_if<LockScope::Named>(&member.scope.value());
        if (named && member.limit > 1) member.scope = LockScope::Semaphore{named->name};
    }
    return members;
}

Lease lease_of_token(std::string_view token) {
    return {.scope = LockScope::Named{}, .token = std::string(token)};
}

std::optional<LockError> find_fault(const LeaseRequest& request) {
    const bool has_one = request.scope != LockScope(LockScope::Named{}) ||
                         request.mode != LockMode::exclusive || request.limit != 1;
    if (has_one && !request.scopes.empty()) {
        return InvalidLockRequest{
            "of several locks, each has a scope, a mode and a limit of its own"};
    }
    const std::vector<LockSetMember> members = members_of(request);
    if (members.size() > members_max) {
        return InvalidLockRequest{"a lease can be on 64 locks at most, not on " +
                                  std::to_string(members.size())};
    }
    for (const LockSetMember& member : members) {
        if (auto fault = find_fault(member)) return fault;
    }
    if (auto fault = find_overlap(members)) return fault;
    if (request.ttl <= std::chrono::milliseconds{0}) {
        return InvalidLockRequest{"a lease must last for a millisecond at least"};
    }
    return std::nullopt;
}

}  // namespace holdfast::values
