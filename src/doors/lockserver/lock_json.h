#pragma once

// Locks and leases in the JSON of the LockServer door.

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

// `"name":..`: when a lease ends. A lease without an end has no such field.
void append_end(base::JsonWriter& json, std::string_view name, core::Time time,
                const service::Clock& clock);

// The name of a lock; of an inode, its number.
[[nodiscard]] std::string shown_name(const core::Scope& scope);

// Whether an answer shows the lease_id of a lease. Together with owner and fencing token it is
// enough to renew and release the lease. The lease_id of a lease of another door is never shown.
enum class LeaseIds : std::uint8_t { hidden, shown };

// `"owner_id":..,"lease_id":..,"fencing_token":..,"lease_expiry_ms":..`, and a shared mode, a grace
// period and metadata if the lease has them.
void append_lease(base::JsonWriter& json, const core::LeaseView& lease, LeaseIds ids,
                  const service::Clock& clock);

// One lock, in core::copied_max bytes and a row: then its holders go on at `holders_next`, and the queue
// is cut, as behind shown_waiters_max waiters. If it has more holders than may be shown, the view has one more than that. `lock` is
// null if the lock does not exist. `position`, also below, is that of the response.
void append_lock(std::string& out, const Get& request, const core::LockView* lock,
                 std::uint64_t position, const service::Clock& clock);

// A page of a listing, in core::copied_max bytes and a row. `locks` is what LockTable::list returns for one lock more than the limit and
// for at most `shown_holders_max` holders.
void append_page(std::string& out, const ListLocks& request,
                 const std::vector<core::LockView>& locks, std::uint64_t position,
                 const service::Clock& clock);

}  // namespace holdfast::doors::lockserver
