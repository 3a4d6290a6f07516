#pragma once

// Asking whether a client may do something, and telling it why not.
//
// A door asks after it has read a request and before it asks the service:
//
//     if (const auto denial = rights::deny(client, {Right::lock, Door::http, scope})) {
//         return send_denied(*denial);
//     }
//
// Every denial is counted for its token, and logged: one line a second for each token, which says how many
// were left out before it.

#include <optional>
#include <string>
#include <string_view>

#include "rights/token.h"

namespace holdfast::rights {

// What a request needs.
struct Need {
    Right right = Right::admin;
    Door door = Door::http;
    core::Scope scope = {};
};

// Why it is refused.
struct Denial {
    Right right = Right::admin;
    std::string scope;     // in its text form; `*`: everything; empty: the client may not know it
    std::string sentence;  // for people
};

[[nodiscard]] Denial refuse(const Token& client, const Need& need);
// The same for a scope that the client has not named: it has shown the token of a lease. The denial
// names the scope only if the client may read it; the log does in any case.
[[nodiscard]] Denial refuse_lease(const Token& client, const Need& need);
// The right would have to be on everything.
[[nodiscard]] Denial refuse_everything(const Token& client, Right right, Door door);
// There is nothing at this door that the client has the right on.
[[nodiscard]] Denial refuse_anything(const Token& client, Right right, Door door);

// Why the client may not do this; no value if it may. A null client has no limits.
[[nodiscard]] inline std::optional<Denial> deny(const Token* client, const Need& need) {
    if (client == nullptr || client->may(need.right, need.door, need.scope)) return std::nullopt;
    return refuse(*client, need);
}

// What a client is told whose right to a lock has ended while its request waited for the lock, or was on
// its way to the service (core::Refusal::denied).
inline constexpr std::string_view right_lost = "the token has lost its right to this lock";

// Adds `"right":..,"on":..` to the JSON object that a body consists of; without `on` if the client may
// not know it. The line end behind the object, if there is one, stays. REQUIRES: the object is not empty.
void add_to_json(std::string& body, const Denial& denial);

}  // namespace holdfast::rights
