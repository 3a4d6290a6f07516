#include "embedded/lease_board.h"

#include <utility>

namespace holdfast::embedded {

LeaseBoard::LeaseBoard(std::size_t leases_max)
    : notes_max_((leases_max + shard_count - 1) / shard_count) {}

// Memory is given back without the mutex: readers wait for as little as can be.
void LeaseBoard::put(core::Token token, Lease lease) {
    if (notes_max_ == 0) return;
    const std::uint64_t number = core::as_number(token.fence);
    auto posted = std::make_shared<const Lease>(std::move(lease));
    std::unordered_map<std::uint64_t, Note>::node_type forgotten;
    Shard& shard = shard_of(token.fence);
    const std::lock_guard guard(shard.mutex);
    const auto [place, is_new] = shard.notes.try_emplace(number);
    place->second.secret = token.secret;
    place->second.lease.swap(posted);
    if (!is_new) return;
    if (shard.order.size() < notes_max_) return shard.order.push_back(number);
    forgotten = shard.notes.extract(std::exchange(shard.order[shard.next], number));
    shard.next = (shard.next + 1) % notes_max_;
}

void LeaseBoard::take_off(core::Fence fence) {
    std::unordered_map<std::uint64_t, Note>::node_type ended;
    Shard& shard = shard_of(fence);
    const std::lock_guard guard(shard.mutex);
    ended = shard.notes.extract(core::as_number(fence));
}

void LeaseBoard::clear() {
    for (Shard& shard : shards_) {
        std::unordered_map<std::uint64_t, Note> forgotten;
        const std::lock_guard guard(shard.mutex);
        forgotten.swap(shard.notes);
        shard.order.clear();
        shard.next = 0;
    }
}

std::shared_ptr<const Lease> LeaseBoard::find(core::Token token) const {
    const Shard& shard = shard_of(token.fence);
    const std::lock_guard guard(shard.mutex);
    const auto found = shard.notes.find(core::as_number(token.fence));
    if (found == shard.notes.end() || found->second.secret != token.secret) return nullptr;
    return found->second.lease;
}

std::size_t LeaseBoard::size() const {
    std::size_t size = 0;
    for (const Shard& shard : shards_) {
        const std::lock_guard guard(shard.mutex);
        size += shard.notes.size();
    }
    return size;
}

}  // namespace holdfast::embedded
