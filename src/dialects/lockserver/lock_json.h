#pragma once

// Locks and leases as the LockServer dialect shows them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "core/view.h"
#include "service/clock.h"

namespace holdfast::dialects::lockserver {

// How many waiters of one lock are shown.
inline constexpr std::size_t shown_waiters_max = 1'000;

[[nodiscard]] std::int64_t unix_ms(core::Time time, const service::Clock& clock);

// What a lock is called; an inode by its number.
[[nodiscard]] std::string shown_name(const core::Scope& scope);

// `"owner_id":..,"lease_id":..,"fencing_token":..,"lease_expiry_ms":..`, and what is not plain
// about it: a shared mode, a grace period, metadata.
void append_lease(base::JsonWriter& json, const core::LeaseView& lease,
                  const service::Clock& clock);

// One lock; with `lock` a nullptr, one that nobody knows of.
void append_lock(std::string& out, std::string_view lock_name, const core::LockView* lock,
                 bool with_queue, const service::Clock& clock);

// A page of a listing of at most `limit` locks, of which there is one more if there is a next page.
void append_page(std::string& out, const std::vector<core::LockView>& locks, std::size_t limit,
                 const service::Clock& clock);

}  // namespace holdfast::dialects::lockserver
