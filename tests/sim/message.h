#pragma once

// What travels between clients and the server.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "service/request.h"
#include "sim/machine.h"
#include "sim/world.h"

namespace holdfast::sim {

enum class ConnectionId : std::uint64_t {};

// A request on its way. Its texts live as long as the world.
struct Call {
    std::uint64_t number = 0;  // of the client's; a duplicate has the same
    std::size_t client = 0;
    ConnectionId connection{};
    service::Request request;
    Moment sent;
};

// A call that has arrived at the server.
struct Submission {
    std::uint64_t id = 0;  // never used twice
    Call call;
    Moment received;
};

// The value of a lease, as somebody sees it.
struct ValueOfLease {
    core::Token token;
    std::uint64_t revision = 0;
    std::string value;
};

// What the service answered. Times are the world's.
struct Reply {
    std::uint64_t call = 0;
    bool is_failure = false;  // the server does not serve
    bool is_unknown = false;  // ... and the request may have been done
    core::Outcome::Kind kind = core::Outcome::Kind::refused;
    core::Refusal refusal = core::Refusal::none;
    core::Token token;
    core::Duration ttl{0};
    Moment decided, expires_at, kept_until;
    core::SessionId session;
    bool is_transient = false;        // the lease that the reply names
    std::uint64_t revision = 0;       // of its value
    std::string value;                // likewise
    std::vector<ValueOfLease> shown;  // the leases that a look at locks has shown
};

[[nodiscard]] Reply make_reply(const Call& call, const service::Response& response,
                               const Machine& machine);

// For histories: `acquire named:job by w1.7 for 10s`, `granted #12`.
[[nodiscard]] std::string to_text(const service::Request& request);
[[nodiscard]] std::string to_text(const Reply& reply);

}  // namespace holdfast::sim
