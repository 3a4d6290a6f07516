#pragma once

// Reading a request of the scoped door:
//
//     POST /v1/leases {"scope":"range:7:0-4096","holder":"w1"}
//     POST /v1/leases {"scopes":["db-a",{"scope":"path:/x","mode":"shared"}],"holder":"w1"}

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "core/values/ids.h"
#include "core/values/scope_set.h"
#include "core/values/view.h"
#include "doors/scoped/scope_json.h"

namespace holdfast::doors::scoped {

// The options of the operator.
struct ScopedOptions {
    std::chrono::milliseconds default_duration{30'000};
    std::chrono::milliseconds duration_max{24LL * 60 * 60 * 1000};
};

// One scope of a request, and how it shall be locked.
struct OwnedMember {
    OwnedScope scope;
    core::Mode mode = core::Mode::exclusive;
    std::uint32_t limit = 1;  // of a semaphore: its permits

    // Valid as long as this object is neither moved nor changed.
    [[nodiscard]] core::SetMember view() const {
        return {.scope = scope.view(), .mode = mode, .limit = limit};
    }
};

struct Acquire {
    OwnedScope scope;
    std::string holder;
    std::chrono::milliseconds duration{0};
    std::chrono::milliseconds wait{0};
    core::Mode mode = core::Mode::exclusive;
    std::uint32_t limit = 1;  // of a semaphore: its permits
    std::string request_id;
    std::string metadata;
    std::string value = {};  // of a candidate for an election
    // Several scopes, all or nothing. The first of them is also in `scope`, `mode` and `limit`.
    // Empty: only that one.
    std::vector<OwnedMember> members;
    std::string waiter;  // whose wait it is, for deadlocks; empty: the holder's
    bool refuses_deadlock = false;
    // What the client may read, and so what the answer may name; null: everything. The handler sets it.
    std::shared_ptr<const core::ScopeFilter> readable;
};

// In the requests below, a malformed token is one that no lease has.

struct Renew {
    core::Token token;
    std::optional<std::chrono::milliseconds> duration;  // nothing: that of the lease
};

struct SetValue {
    core::Token token;
    std::string value;
};

struct Release {
    core::Token token;
};

struct Look {
    core::Token token;
};

struct ListLeases {
    std::optional<core::ScopeKind> kind;
    std::optional<OwnedScope> on;
    std::string holder;
    core::Fence after{};  // the end of the page before
    std::size_t limit = 100;
};

// The deadlocks that exist now.
struct ListDeadlocks {
    std::shared_ptr<const core::ScopeFilter> readable;  // as in Acquire
};

struct CheckToken {
    core::Token token;
    OwnedScope scope;
    std::shared_ptr<const core::ScopeFilter> readable = {};  // as in Acquire
};

struct RaiseFence {
    std::string resource;
    core::Fence fence{};
};

struct ReadFence {
    std::string resource;
};

struct DropFence {
    std::string resource;
};

// Who leads: now, or as soon as that changes.
struct LookAtElection {
    std::string name;
    bool is_watch = false;
    bool is_stream = false;              // of a watch: every change, as server-sent events
    std::optional<std::uint64_t> after;  // the position of the state that the client knows
    std::chrono::milliseconds wait{60'000};
};

using ScopedRequest =
    std::variant<Acquire, Renew, SetValue, Release, Look, ListLeases, ListDeadlocks, CheckToken,
                 RaiseFence, ReadFence, DropFence, LookAtElection>;

// Why a request is malformed.
struct Fault {
    int status = 400;
    std::string_view code = "BadRequest";
    std::string message;
};

// What a request asks for. Its method and path say so: see the routes in scoped_handler.cc.
enum class Action : std::uint8_t {
    acquire,
    list,
    list_deadlocks,
    look,
    release,
    renew,
    set_value,
    look_at_election,
    check_token,
    raise_fence,
    read_fence,
    drop_fence,
};

// The parts of an HTTP request that matter here.
struct RequestParts {
    std::string_view name;  // the token, resource or election in the path, not decoded
    std::string_view query, body;
    std::string_view accept = {};  // the header of this name
};

[[nodiscard]] tl::expected<ScopedRequest, Fault> parse_request(Action action,
                                                               const RequestParts& parts,
                                                               const ScopedOptions& options);

// What is wrong with a path that begins with `/v1/leases/`, `/v1/fence` or `/v1/elections` and has no
// route.
[[nodiscard]] Fault explain_path(std::string_view path);

}  // namespace holdfast::doors::scoped
