#pragma once

// Locks as the server shows them: the rows of tables and of the live view.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json_value.h"
#include "cli/server.h"

namespace holdfast::cli {

// Times are milliseconds since 1970, by the server's clock; 0 if the answer had none.
struct HolderRow {
    std::string owner;
    std::string door;
    std::string mode = "exclusive";
    std::string scope;                // for a range: which part of the inode
    std::vector<std::string> scopes;  // of a lease on several locks: all of them
    std::string metadata;
    std::uint64_t fencing_token = 0;
    std::int64_t expires_ms = 0;  // 0: the lease has no end
    std::int64_t ttl_ms = 0;
    std::int64_t acquired_ms = 0;
    std::int64_t grace_until_ms = 0;  // expired; reserved for its last owner until then

    [[nodiscard]] bool is_endless() const { return expires_ms == 0; }
};

struct WaiterRow {
    std::string owner;
    std::string door;
    std::string mode = "exclusive";
    std::string scope;
    std::vector<std::string> scopes;  // of a wait for several locks: all of them
    std::string waits_for;  // the owner of the lease or the earlier wait that is in the way
    std::string metadata;
    std::int64_t since_ms = 0;
    std::int64_t until_ms = 0;  // 0: no end
};

struct LockRow {
    std::string name;
    std::string kind = "named";
    std::uint64_t limit = 1;         // of a semaphore
    std::uint64_t waiter_count = 0;  // includes waiters that are not listed
    std::vector<HolderRow> holders;
    std::string holders_next;  // where the holders begin that the answer omitted; empty: none
    std::uint64_t holders_left_out = 0;  // how many were omitted
    std::vector<WaiterRow> waiters;
};

// An item of GET /v1/locks.
[[nodiscard]] LockRow read_listed_lock(const base::JsonValue& json);
// The answer to GET /v1/locks/x?queue=true, which has another format for a single holder.
[[nodiscard]] LockRow read_shown_lock(const base::JsonValue& json);
// The `queue` of such an answer.
[[nodiscard]] std::vector<WaiterRow> read_queue(const base::JsonValue& queue);

// Adds the holders that the answer omitted, page by page. `get` asks the server.
using GetJson = std::function<Asked<base::JsonValue>(const std::string& target)>;
[[nodiscard]] Asked<void> add_other_holders(LockRow& lock, const GetJson& get);
[[nodiscard]] Asked<void> add_other_holders(LockRow& lock, Server& server);

// The lock, and the part of it that somebody holds, as every command takes it: `path:/srv/photos`.
[[nodiscard]] std::string scope_text(const LockRow& lock);
[[nodiscard]] std::string scope_text(const LockRow& lock, const HolderRow& holder);

// The lock that an event is about; empty if it is about none. Of several locks, the first.
[[nodiscard]] std::string scope_of_event(const base::JsonValue& data);

// The texts of a list such as `"scopes":["a","path:/x"]`.
[[nodiscard]] std::vector<std::string> read_texts(const base::JsonValue& list);

// ` (and b, path:/x)`: what a lease or a wait is on besides this lock. Empty: nothing.
[[nodiscard]] std::string set_text(const std::string& scope,
                                   const std::vector<std::string>& scopes);

// `semaphore 2/3`, or the name of another kind.
[[nodiscard]] std::string kind_text(const LockRow& lock);

// The name of a lock in an answer or an event: its bytes, if it is not UTF-8.
[[nodiscard]] std::string name_of(const base::JsonValue& json);

// A whole number, or 0.
[[nodiscard]] std::int64_t number_of(const base::JsonValue& json);

}  // namespace holdfast::cli
