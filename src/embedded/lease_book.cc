#include "embedded/lease_book.h"

#include <utility>

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
        case core::EventKind::expired:
            // Leases that were there before the book are remembered, too.
            if (!held_.contains(core::as_number(event.lease.token.fence))) add(event.lease);
            return end(event.lease.token.fence);
        default: return;
    }
}

void LeaseBook::recount(const std::vector<core::LockView>& locks) {
    const auto before = std::exchange(held_, {});
    counts_.clear();
    for (const core::LockView& lock : locks) {
        for (const core::LeaseView& lease : lock.holders) {
            if (lease.state == core::LeaseState::held) add(lease);
        }
    }
    for (const auto& [fence, lease] : before) {
        if (!held_.contains(fence)) remember({core::Fence{fence}, lease.secret});
    }
}

bool LeaseBook::knows(core::Token token) const {
    const std::uint64_t fence = core::as_number(token.fence);
    if (const auto held = held_.find(fence); held != held_.end()) {
        return held->second.secret == token.secret;
    }
    const auto ended = ended_.find(fence);
    return ended != ended_.end() && ended->second == token.secret;
}

std::size_t LeaseBook::count_of(const core::Owner& owner) const {
    const auto found = counts_.find(key_of(owner));
    return found == counts_.end() ? 0 : found->second;
}

void LeaseBook::add(const core::LeaseView& lease) {
    const auto [place, is_new] =
        held_.try_emplace(core::as_number(lease.token.fence),
                          Held{.secret = lease.token.secret, .owner = key_of(lease.owner)});
    if (is_new) ++counts_[place->second.owner];
}

void LeaseBook::end(core::Fence fence) {
    const auto found = held_.find(core::as_number(fence));
    const Held lease = std::move(found->second);
    held_.erase(found);
    const auto count = counts_.find(lease.owner);
    if (--count->second == 0) counts_.erase(count);
    remember({fence, lease.secret});
}

void LeaseBook::remember(core::Token token) {
    if (!ended_.try_emplace(core::as_number(token.fence), token.secret).second) return;
    ended_order_.push_back(core::as_number(token.fence));
    if (ended_order_.size() <= ended_max_) return;
    ended_.erase(ended_order_.front());
    ended_order_.pop_front();
}

}  // namespace holdfast::embedded
