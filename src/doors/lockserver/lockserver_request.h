#pragma once

// Reading a LockServer request: `POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000}`.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>

#include "core/values/scope.h"
#include "core/values/view.h"
#include "doors/lockserver/lease_id.h"

namespace holdfast::doors::lockserver {

struct Acquire {
    std::string lock_name;
    std::string owner_id;
    std::chrono::milliseconds ttl{0};
    std::chrono::milliseconds wait{0};
    core::Mode mode = core::Mode::exclusive;
    std::uint32_t limit = 1;  // more than one: a semaphore
    std::string request_id;
    std::string metadata;
};

struct Renew {
    std::string lock_name;
    std::string owner_id;
    LeaseId lease;  // one that no lease has, if lease_id and fencing_token do not fit together
    std::chrono::milliseconds extend_by{0};
};

struct Release {
    std::string lock_name;
    std::string owner_id;
    LeaseId lease;
};

struct Get {
    std::string lock_name;
    std::optional<core::ScopeKind> kind;  // none: the named lock, or else the semaphore
    bool with_queue = false;
    std::optional<core::Fence> holders_after;  // only the holders after this one
    bool with_lease_ids = false;               // of all holders
    // Which other locks of a holder are shown; null: all. The handler sets it.
    std::shared_ptr<const core::ScopeFilter> readable = {};
};

struct ListLocks {
    std::string prefix;
    std::string
        after;  // the text of a scope, the last of the page before; empty: from the beginning
    std::size_t limit = 100;
    bool with_lease_ids = false;
    std::shared_ptr<const core::ScopeFilter> readable = {};  // as in Get
};

struct ForceRelease {
    std::string lock_name;
    std::optional<core::ScopeKind> kind;  // as for Get
};

struct WatchEvents {
    std::string prefix;
    std::string scope = {};  // the text form of one lock; empty: all of them
    std::optional<std::uint64_t> after;
};

using LockserverRequest =
    std::variant<Acquire, Renew, Release, Get, ListLocks, ForceRelease, WatchEvents>;

// Why a request is malformed.
struct Fault {
    int status = 400;
    std::string error;
};

// What a request asks for. Its method and path say so: see the routes in lockserver_handler.cc.
enum class Action : std::uint8_t { list, get, force_release, acquire, renew, release, watch };

// The parts of an HTTP request that matter here.
struct RequestParts {
    std::string_view lock_name;  // as it stands in the path, not decoded
    std::string_view query, body;
    std::optional<std::string_view> last_event_id;
    // Whether the client may see the lease ids of others, with which it could end their leases.
    bool is_admin = false;
};

[[nodiscard]] tl::expected<LockserverRequest, Fault> parse_request(Action action,
                                                                   const RequestParts& parts);

// Whether LockServer has no such path for the method, though we have one for other methods: an action
// is for POST alone, and POST is for actions alone. LockServer answers these with 404 and all other
// wrong methods with 405. REQUIRES: the path has no route for this method.
[[nodiscard]] bool is_unknown_for(std::string_view method, std::string_view path);

// What is wrong with a path that begins with `/v1/locks/` and has no route, or for which
// is_unknown_for() is true.
struct WrongPath {
    std::string_view method;
    std::string_view path;
};
[[nodiscard]] Fault explain_path(const WrongPath& wrong);

}  // namespace holdfast::doors::lockserver
