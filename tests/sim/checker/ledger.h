#pragma once

// Ledger: what the service has promised, in its own answers.
//
// Every lease that a client was told of is an entry. An answer that promises a lease until a time
// binds the server from the moment it was decided, also over crashes. Only a request of the holder,
// a forced release or the end of the session frees the server earlier. The ledger does not look at
// the lock table or at the disk.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/values/scope.h"
#include "core/values/scope_set.h"
#include "sim/checker/told_values.h"
#include "sim/message.h"
#include "sim/world.h"

namespace holdfast::sim {

class Ledger {
  public:
    explicit Ledger(World& world) : world_(world), values_(world) {}

    // A request arrives. If it can end or shorten leases, it may have done so from now on.
    void on_submitted(const Submission& submission);
    // Its answer is not awaited any more.
    void on_abandoned(const Submission& submission);
    // It was answered. Accuses the service of what the answer breaks.
    void on_answered(const Submission& submission, const Reply& reply);
    // The server found its leases again: each may now last its whole time once more. Those that
    // were transient may be over.
    void on_recovered();
    // It found this one. Accuses the service if somebody was told of a later value of it; if it is
    // held, also if somebody was told of its end, or that it was never granted. `submission` is the
    // request that it was granted to.
    void on_restored(const core::RestoreRequest& lease, std::uint64_t submission);
    // A client counts on a lease until `deadline`.
    void on_believed(core::Token token, Moment deadline);

    [[nodiscard]] bool knows(core::Fence fence) const { return leases_.contains(fence); }

  private:
    struct Asked {
        core::Scope scope;
        core::Owner owner;
        core::Mode mode = core::Mode::exclusive;
        std::uint32_t limit = 1;
        std::vector<core::SetMember> members;  // of a set; otherwise what is above
        core::SessionId session;
        core::Duration ttl{0};
        std::string_view request_id;
        // The second half of a two-phase request, or one that was made before: what it was given
        // may be older than what others were.
        bool may_be_old = false;
    };
    struct Lease {
        Asked asked;
        core::Token token;
        core::Duration ttl_max{0};         // of all that were asked for
        Moment promised_until;             // it lasts at least so long,
        Moment promise_decided;            // as was decided then,
        Moment kept_until;                 // and nobody else has it before this,
        bool may_be_over = false;          // unless somebody has asked for its end.
        bool is_transient = false;         // It ends with the run of the server.
        Moment latest_end;                 // It does not last longer.
        std::optional<Moment> over_since;  // It is certainly over.
    };
    // The largest number of a lock, and when it was given.
    struct Decided {
        core::Fence fence{};
        Moment at;
    };
    // What a request with an id was given.
    struct Given {
        core::Token token;
        Moment decided;
        std::uint64_t recoveries = 0;  // there were so many by then
    };
    // Something that ends leases without naming their tokens.
    struct Ending {
        Moment at;
        std::function<bool(const Asked&)> concerns;
    };

    // Whether `is_it` is true of one of the scopes.
    template <class Predicate>
    static bool any_member(const Asked& asked, const Predicate& is_it);
    static Asked asked_by(const core::AcquireRequest& request, bool may_be_old);
    Lease* find(core::Token token);
    template <class Visitor>
    void each_open(const Visitor& visit);
    void allow_end(std::function<bool(const Asked&)> concerns);
    void on_reclaim(const core::Owner& owner, const core::Scope& scope);
    void end_grace(Lease& lease) const;
    void on_renewing(Lease& lease, core::Duration ttl, bool may_shorten);
    void on_granted(const Asked& asked, const Reply& reply);
    void on_renewed(Lease& lease, const Reply& reply);
    void on_shown(core::Token token, const Reply& reply);
    void add(const Asked& asked, const Reply& reply);
    using EntryKey = std::pair<std::uint64_t, std::string>;  // a session and a scope
    static EntryKey key_of(core::SessionId session, const core::Scope& scope);
    void on_enqueuing(const Submission& submission, const core::AcquireRequest& request);
    void on_enqueued(const Submission& submission, const core::AcquireRequest& request,
                     const Reply& reply);
    void check_rivals(const Asked& asked, const Reply& reply);
    void check_rivals(const Asked& asked, const core::SetMember& member, const Reply& reply);
    void check_number(const Asked& asked, const Reply& reply);
    void check_shown(core::Token token);
    void note_values(const Reply& reply);
    void check_repeated(const Asked& asked, const Reply& reply);

    World& world_;
    ToldValues values_;
    std::uint64_t recoveries_ = 0;
    std::map<core::Fence, Lease> leases_;         // all there ever were
    std::vector<core::Fence> open_;               // those not certainly over
    std::map<core::Fence, core::Token> shown_;    // to whoever looked
    std::map<std::string, Decided> last_grants_;  // by lock
    std::deque<Ending> endings_, reclaims_;       // the latest
    std::map<EntryKey, Asked> enqueued_;
    std::map<EntryKey, core::Fence> entries_;  // what was granted to the latest enqueue there
    std::set<std::uint64_t> fresh_;            // enqueues where what was granted before is over
    std::map<std::uint64_t, Asked> waits_;     // by submission
    std::map<std::string, Given> given_;       // by request
    std::set<std::uint64_t> not_done_;         // submissions that were told so
};

}  // namespace holdfast::sim
