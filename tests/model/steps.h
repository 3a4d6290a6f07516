#pragma once

// Random calls. A Step is what RapidCheck draws and shrinks: small numbers without a meaning of
// their own. They get their meaning ("the token before the last", "the moment of the next deadline")
// when the step is run, from what has happened so far. So a list of steps still makes sense when
// RapidCheck leaves some out.

#include <rapidcheck.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "core/values/changes.h"
#include "model/call.h"
#include "model/universe.h"

namespace holdfast::model {

// What is wrong with a request. Most requests have no flaw.
enum class Flaw : std::uint8_t {
    none,
    secret,
    fence,
    scope,
    owner,
    empty_key,
    long_key,
    empty_range,
    long_owner,
    long_request_id,
    long_metadata,
    long_waiter,
    long_value,
    short_ttl,
    long_ttl,
    no_permits,
    many_permits,
    session,
    many_members,
    same_members,
};

// How far the clock moves.
enum class Pace : std::uint8_t {
    stand,
    tick,             // `ticks` milliseconds
    to_deadline,      // exactly to the next one
    before_deadline,  // one microsecond short of it
    jump,             // past most deadlines
    back,             // the table must treat this like `stand`
};

struct Step {
    Operation operation = Operation::acquire;
    Pace pace = Pace::stand;
    Flaw flaw = Flaw::none;
    std::uint8_t ticks = 1;
    std::uint8_t scope = 0, owner = 0;
    core::Mode mode = core::Mode::exclusive;
    std::uint8_t limit = 1;
    std::uint8_t ttl = 1, grace = 0, memory = 0;  // milliseconds
    std::uint8_t wait = 0;                        // milliseconds; 255: for ever
    std::uint8_t session = 0;                     // 0: none; 1: the latest
    std::uint8_t reference = 0;                   // which token, waiter or entry; 0: the latest
    bool flag = false;   // renew_own, never_shorten or keep, depending on the operation
    bool again = false;  // enqueue: for the session and scope of an earlier one; is_only_kind
    bool is_transient = false;
    bool with_scope = false, with_owner = false, with_ttl = false;
    std::uint8_t members = 0;  // of a set; 0: a single scope
    std::uint8_t waiter = 0;   // 0: the owner as a whole
    bool refuses_deadlock = false;
};

// The tokens and entries that the engine gave out so far. Steps refer to them.
class History {
  public:
    struct Grant {
        core::Token token;
        core::Scope scope;
        core::Owner owner;
    };

    struct Enqueued {
        std::size_t session = 0;
        core::Scope scope;
    };

    explicit History(const Universe& universe) : universe_(universe) {}

    // Remembers the grants among the events, and an enqueue that needs its wait.
    void note(const Call& call, const Reply& reply, const core::Changes& changes);

    [[nodiscard]] const std::vector<Grant>& grants() const { return grants_; }
    [[nodiscard]] const std::vector<Enqueued>& enqueued() const { return enqueued_; }

  private:
    const Universe& universe_;  // its scopes and owners outlive the events
    std::vector<Grant> grants_;
    std::vector<Enqueued> enqueued_;
};

// Everything that a step can refer to.
struct Situation {
    const Universe& universe;
    const History& history;
    const Names& names;
    core::Time now;
    std::optional<core::Time> next_deadline;
};

// The call that `step` means in this situation. `serial` must differ for every step: the secret is
// made from it.
[[nodiscard]] Call make_call_of(const Step& step, const Situation& situation, std::uint64_t serial);

// Up to about 400 steps, in the usual mixture.
[[nodiscard]] rc::Gen<std::vector<Step>> arbitrary_steps();

// For RapidCheck. The message of a failure shows the calls that the steps became.
std::ostream& operator<<(std::ostream& stream, const Step& step);

}  // namespace holdfast::model
