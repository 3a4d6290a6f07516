#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

#include "core/containers/key_hash.h"
#include "core/records.h"
#include "core/values/scope.h"

namespace holdfast::core {

// ResourceKey: what a scope's resource is called: its name, or the bytes of its inode's number.
//
// Lifetime: as long as the scope.
class ResourceKey {
  public:
    ResourceKey(const Scope& scope, std::uint64_t hash_seed)
        : kind_(kind_of(scope.kind)), text_(scope.name) {
        if (kind_ == ResourceKind::inode) {
            number_ = std::bit_cast<Number>(scope.inode);
            text_ = {number_.data(), number_.size()};
        }
        const std::uint64_t hash = hash_text(hash_seed + static_cast<unsigned>(kind_), text_);
        hash_ = static_cast<std::uint32_t>(hash);
    }
    ResourceKey(const ResourceKey&) = delete;
    ResourceKey& operator=(const ResourceKey&) = delete;

    [[nodiscard]] ResourceKind kind() const { return kind_; }
    [[nodiscard]] std::string_view text() const { return text_; }
    [[nodiscard]] std::uint32_t hash() const { return hash_; }

  private:
    using Number = std::array<char, sizeof(std::uint64_t)>;

    static ResourceKind kind_of(ScopeKind kind) {
        switch (kind) {
            case ScopeKind::named: return ResourceKind::named;
            case ScopeKind::semaphore: return ResourceKind::semaphore;
            case ScopeKind::path: return ResourceKind::path;
            case ScopeKind::inode:
            case ScopeKind::range: break;
        }
        return ResourceKind::inode;
    }

    const ResourceKind kind_;
    std::uint32_t hash_ = 0;
    std::string_view text_;
    Number number_;  // only of an inode
};

}  // namespace holdfast::core
