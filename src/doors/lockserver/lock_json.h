#pragma once

// Locks and leases as the LockServer door shows them.

#include <cstdint>
#include <string>
#include <vector>

#include "base/json/json_writer.h"
#include "core/values/view.h"
#include "doors/lockserver/lockserver_request.h"
#include "service/ports/clock.h"

namespace holdfast::doors::lockserver {

// How many waiters of one lock are shown.
inline constexpr std::size_t shown_waiters_max = 1'000;

// How many holders are shown in one answer: of one lock, or of all locks of a listing's page.
inline constexpr std::size_t shown_holders_max = 1'000;

[[nodiscard]] std::int64_t unix_ms(core::Time time, const service::Clock& clock);

// What a lock is called; an inode by its number.
[[nodiscard]] std::string shown_name(const core::Scope& scope);

// Whether whoever is told of a lease is told its lease_id: with owner and fencing token, that is
// all it takes to renew and release it. Of what another door granted nobody is.
enum class LeaseIds : std::uint8_t { hidden, shown };

// `"owner_id":..,"lease_id":..,"fencing_token":..,"lease_expiry_ms":..`, and what is not plain
// about it: a shared mode, a grace period, metadata.
void append_lease(base::JsonWriter& json, const core::LeaseView& lease, LeaseIds ids,
                  const service::Clock& clock);

// One lock, of which the view has one holder more than are shown if there are such; with `lock` a
// nullptr, one that nobody knows of.
void append_lock(std::string& out, const Get& request, const core::LockView* lock,
                 const service::Clock& clock);

// A page of a listing, as LockTable::list gives it for one lock more than the limit and for at most
// `shown_holders_max` holders.
void append_page(std::string& out, const ListLocks& request,
                 const std::vector<core::LockView>& locks, const service::Clock& clock);

}  // namespace holdfast::doors::lockserver
