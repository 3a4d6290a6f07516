#include "service/commit_effect.h"

#include <algorithm>

#include "base/check.h"
#include "service/history/hold.h"

namespace holdfast::service {

namespace {

// Empties `items`. Memory for a usual commit is kept; what a million expiries have grown is not.
template <class Item>
void empty_out(std::vector<Item>& items) {
    constexpr std::size_t kept_capacity = 4096;
    if (items.capacity() > kept_capacity) std::vector<Item>().swap(items);
    items.clear();
}

bool is_live_after(const core::Event& change) {
    using core::EventKind;
    return change.kind == EventKind::granted || change.kind == EventKind::renewed ||
           change.kind == EventKind::value_set ||
           (change.kind == EventKind::expired && change.grace > core::Duration::zero());
}

}  // namespace

void CommitEffect::compute(const Commit& commit) {
    clear();
    commit_ = &commit;
    for (const core::Event& change : commit.changes) {
        if (core::is_kept(change)) add(change);
    }
    if (has_cancelled_puts_) {
        std::erase_if(puts_, [](const Put& put) { return put.change == nullptr; });
        std::erase(holds_, nullptr);
    }
}

void CommitEffect::clear() {
    empty_out(puts_);
    empty_out(ends_);
    empty_out(holds_);
    empty_out(grants_);
    if (!other_puts_.empty()) other_puts_ = {};
    last_fence_ = 0;
    has_cancelled_puts_ = false;
}

void CommitEffect::add(const core::Event& change) {
    const std::uint64_t fence = core::as_number(change.lease.token.fence);
    // Renewals count, too: a transient lease that becomes durable was granted without a store.
    last_fence_ = std::max(last_fence_, fence);
    if (change.kind == core::EventKind::granted) return add_grant(fence, change);
    if (!is_live_after(change)) return add_end(fence, change);
    if (change.kind == core::EventKind::expired) holds_.push_back(&change);
    if (Put* const earlier = find_put(fence)) {
        earlier->change = &change;
        if (change.kind == core::EventKind::expired) earlier->hold = holds_.size() - 1;
    } else {
        other_puts_.emplace(fence, puts_.size());
        const bool is_forced = change.cause == core::Cause::force;
        puts_.push_back({.change = &change, .by = is_forced ? std::string_view() : change.by});
    }
}

void CommitEffect::add_grant(std::uint64_t fence, const core::Event& change) {
    CHECK(grants_.empty() || grants_.back().fence < fence);
    grants_.push_back({.fence = fence, .index = puts_.size()});
    puts_.push_back(
        {.change = &change, .is_new = true, .waited = waited_of(change), .by = change.by});
}

void CommitEffect::add_end(std::uint64_t fence, const core::Event& change) {
    if (Put* const earlier = find_put(fence)) {
        earlier->change = nullptr;
        has_cancelled_puts_ = true;
        if (earlier->is_new) {
            // No client was told of the lease, so nobody is told of its hold.
            if (earlier->hold) holds_[*earlier->hold] = nullptr;
            return;
        }
    }
    ends_.push_back(&change);
    if (change.kind != core::EventKind::grace_ended) holds_.push_back(&change);
}

CommitEffect::Put* CommitEffect::find_put(std::uint64_t fence) {
    if (!grants_.empty() && fence >= grants_.front().fence) {
        const auto grant = std::ranges::lower_bound(grants_, fence, {}, &Place::fence);
        if (grant != grants_.end() && grant->fence == fence) return &puts_[grant->index];
    }
    if (other_puts_.empty()) return nullptr;
    const auto other = other_puts_.find(fence);
    return other == other_puts_.end() ? nullptr : &puts_[other->second];
}

}  // namespace holdfast::service
