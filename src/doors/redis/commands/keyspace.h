#pragma once

// Keyspace: the lock table as the keys of Redis, during one step of the engine.
//
// A key is a named lock, its value the owner, its time to live the lease. What SET NX would refuse is
// there for GET, EXISTS and PTTL, too: a lock of another door, and one that is kept for its last
// owner.
//
// A lock is never overwritten: its value is the name of its owner, and the lease goes from one owner
// to the next only by its end. Commands that do not name the owner (DEL, PEXPIRE, SET XX, PERSIST)
// end or prolong locks of this door only. A client that has shown the owner's name in the same step
// acts as the owner. Otherwise the event says that it was forced, and a strict server refuses.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "doors/redis/redis_door.h"
#include "doors/redis/resp/reply.h"
#include "service/request.h"

namespace holdfast::doors::redis {

// Why the engine has not granted or renewed a lock, for refusals that Redis does not know.
// `command` is in lower case.
[[nodiscard]] Reply explain(core::Refusal refusal, std::string_view command);

// The name of the lock of a key. Database 0 has the names that all doors share. The others have names
// of their own.
[[nodiscard]] std::string name_of(std::string_view key, unsigned database);

// What SET is asked to do.
struct SetRequest {
    enum class Condition : std::uint8_t {
        none,
        if_absent,   // NX
        if_present,  // XX
        if_equal,    // IFEQ
    };

    std::string_view key;
    std::string_view value;
    Condition condition = Condition::none;
    std::string_view compared;  // if_equal
    // The time to live; core::endless: none.
    core::Duration ttl = core::endless;
    bool keeps_ttl = false;  // KEEPTTL: a lock that is held keeps its time
};

// What EXPIRE and its like are asked to do.
struct ExpireRequest {
    std::string_view key;
    core::Duration ttl{0};         // zero or less ends the lock
    std::string_view command;      // for errors, in lower case
    bool only_if_endless = false;  // NX
    bool only_if_ending = false;   // XX
    bool only_later = false;       // GT: a lock without an end ends never
    bool only_earlier = false;     // LT
};

// What a connection has seen of a key with WATCH.
struct Watched {
    std::string key;
    unsigned database = 0;
    std::uint64_t fence = 0;  // 0: the key was not there
    std::uint64_t version = 0;

    bool operator==(const Watched&) const = default;
};

class Keyspace {
  public:
    Keyspace(const service::StepContext& context, const RedisDoor& door, unsigned database)
        : table_(context.table),
          context_(context),
          door_(door),
          database_(database),
          measured_(context.table.changes().size()) {}

    void select(unsigned database) { database_ = database; }
    [[nodiscard]] unsigned database() const { return database_; }
    // The client has shown these texts in this step. They outlive the keyspace.
    void show(std::span<const std::string_view> texts) {
        shown_.insert(texts.begin(), texts.end());
    }
    // The client has watched the key, so it has read the value since.
    void show_watched(const Watched& watched) { watched_.push_back(&watched); }

    // Why the step may not change so many keys more: what it has changed already is nearly as much
    // as a commit may hold. No value: it may.
    [[nodiscard]] std::optional<Reply> refuse_changes(std::size_t keys);

    [[nodiscard]] Reply get(std::string_view key);
    [[nodiscard]] bool exists(std::string_view key);
    // Milliseconds; -1: without an end; -2: the key is not there.
    [[nodiscard]] std::int64_t time_to_live_ms(std::string_view key);
    // The fencing number of the lock; null if the key is not there.
    [[nodiscard]] Reply fence(std::string_view key);
    [[nodiscard]] Watched watch(std::string_view key);

    Reply set(const SetRequest& request);
    // Several keys, or none of them if one cannot be set: as plain SET, or only if all are absent.
    Reply set_all(std::span<const SetRequest> requests, bool if_absent);
    // Ends the lock if it has this owner.
    Reply remove_if_equal(std::string_view key, std::string_view value);
    // Ends the locks, or none of them if one may not be ended.
    Reply remove_all(std::span<const std::string_view> keys);
    // Gives the lock another time to live, if the conditions allow that: 1 or 0.
    Reply expire(const ExpireRequest& request);
    Reply persist(std::string_view key);

    // Whether a lease was asked for that is longer than the longest, which was granted in its place.
    [[nodiscard]] bool has_shortened() const { return has_shortened_; }

    // What an answer rests on that tells of all this: see service::Step.
    [[nodiscard]] core::Outcome rests_on() const;

  private:
    using Lease = core::LeaseView;

    [[nodiscard]] core::Scope scope_of(std::string_view key);
    [[nodiscard]] core::Outcome look_up(std::string_view key);
    [[nodiscard]] std::optional<Lease> find(std::string_view key);
    [[nodiscard]] std::optional<Lease> see(std::string_view key);
    [[nodiscard]] bool allows(const ExpireRequest& request, const Lease& lease) const;
    [[nodiscard]] bool is_shown(const Lease& lease, std::string_view key) const;
    [[nodiscard]] std::optional<Reply> refuse_change(const Lease& lease,
                                                     std::string_view key) const;
    Reply acquire(const SetRequest& request);
    Reply renew(const Lease& lease, core::Duration ttl, bool is_forced, std::string_view command);
    void end(const Lease& lease, std::string_view key);
    [[nodiscard]] core::Duration shorten(core::Duration ttl);
    void note(const core::Outcome& outcome);

    core::LockTable& table_;
    const service::StepContext& context_;
    const RedisDoor& door_;
    unsigned database_;
    std::string name_;  // of the last scope_of()
    std::unordered_set<std::string_view> shown_;
    std::vector<const Watched*> watched_;
    core::Outcome outcome_;  // of the only call so far
    int calls_ = 0;
    bool has_shortened_ = false;
    // The changes of the table up to here are measured: those of this step are so many.
    std::size_t measured_;
    std::size_t changes_ = 0;
    std::size_t changes_bytes_ = 0;
};

}  // namespace holdfast::doors::redis
