#include "values/lease_request.h"

#include <unistd.h>

#include <array>

#include "base/crypto.h"
#include "base/text/hex.h"

namespace holdfast::values {

std::string make_owner() {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
    std::string owner = std::string(host.data()) + "-" + std::to_string(::getpid()) + "-";
    base::RandomBits random;
    std::string digits;
    base::append_hex(digits, random());
    return owner + digits.substr(0, 8);
}

LockScope scope_of(const LeaseRequest& request) {
    const auto* const named = std::get_if<LockScope::Named>(&request.scope.value());
    if (named && request.limit > 1) return LockScope::Semaphore{named->name};
    return request.scope;
}

std::optional<LockError> find_fault(const LeaseRequest& request) {
    const LockScope scope = scope_of(request);
    const bool is_semaphore = std::holds_alternative<LockScope::Semaphore>(scope.value());
    if (request.limit == 0) return InvalidLockRequest{"a limit of 0 would let nobody in"};
    if (request.limit > 1 && !is_semaphore) {
        return InvalidLockRequest{"only a name can be a semaphore: " + scope.to_text()};
    }
    if (request.ttl <= std::chrono::milliseconds{0}) {
        return InvalidLockRequest{"a lease must last for a millisecond at least"};
    }
    return std::nullopt;
}

}  // namespace holdfast::values
