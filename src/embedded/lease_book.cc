#include "embedded/lease_book.h"

namespace holdfast::embedded {

namespace {

// The same name at two doors is two owners.
std::string key_of(const core::Owner& owner) {
    std::string key(1, static_cast<char>(owner.door));
    return key.append(owner.name);
}

}  // namespace

void LeaseBook::on_event(const core::Event& event) {
    switch (event.kind) {
        case core::EventKind::granted: return add(event.lease);
        case core::EventKind::released:
        case core::EventKind::expired: return end(event.lease.token.fence);
        default: return;
    }
}

void LeaseBook::recount(const std::vector<core::LockView>& locks) {
    held_.clear();
    counts_.clear();
    for (const core::LockView& lock : locks) {
        for (const core::LeaseView& lease : lock.holders) {
            if (lease.state == core::LeaseState::held) add(lease);
        }
    }
}

std::size_t LeaseBook::count_of(const core::Owner& owner) const {
    const auto found = counts_.find(key_of(owner));
    return found == counts_.end() ? 0 : found->second;
}

void LeaseBook::add(const core::LeaseView& lease) {
    const auto [place, is_new] =
        held_.try_emplace(core::as_number(lease.token.fence), key_of(lease.owner));
    if (is_new) ++counts_[place->second];
}

// A lease that was restored may end before it was counted.
void LeaseBook::end(core::Fence fence) {
    const auto found = held_.find(core::as_number(fence));
    if (found == held_.end()) return;
    const auto count = counts_.find(found->second);
    if (--count->second == 0) counts_.erase(count);
    held_.erase(found);
}

}  // namespace holdfast::embedded
