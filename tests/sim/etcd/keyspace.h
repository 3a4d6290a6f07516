#pragma once

// Keyspace: what etcd stores, as one line of revisions.
//
// Every transaction that changes something makes the next revision. What a key was at an older
// revision can still be read, until that revision is compacted. The rules are those of etcd 3.4 and
// later:
//   - all conditions of a transaction, those of nested ones included, are looked at before any of
//     it is done;
//   - a range in a transaction sees what the steps before it have written;
//   - a level has at most 128 conditions, and 128 steps in each branch; a key is put at most once,
//     and not also removed;
//   - removing what is not there changes nothing.
//
// Thread safety: none.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "etcd/api.h"
#include "etcd/wire/messages.h"

namespace holdfast::sim {

class Keyspace {
  public:
    static constexpr std::size_t steps_max = 128;          // of a level of a transaction
    static constexpr std::size_t bytes_max = 1536 * 1024;  // of a request

    // Whether a lease exists, to which a key may be bound.
    using HasLease = std::function<bool(etcd::LeaseId)>;

    [[nodiscard]] etcd::Revision revision() const { return revision_; }
    [[nodiscard]] etcd::Revision compacted() const { return compacted_; }

    // Does it, or refuses it: then nothing has changed.
    etcd::Answer<etcd::TransactionAnswer> transact(const etcd::Transaction& transaction,
                                                   const HasLease& has_lease);

    // As a member answers that knows the revisions up to `known`.
    [[nodiscard]] etcd::Answer<etcd::RangeAnswer> range(const etcd::RangeRequest& request,
                                                        etcd::Revision known) const;

    // Drops what was replaced before `revision`.
    etcd::Answer<etcd::Revision> compact(etcd::Revision revision);

    // The lease is over: its keys are removed, in one revision.
    void remove_keys_of(etcd::LeaseId lease);

    // What has changed from `first` to `last`, of the keys from `key` to `range_end` (empty: of that
    // key alone). REQUIRES: first > compacted().
    struct Span {
        etcd::Revision first, last;
    };
    [[nodiscard]] std::vector<etcd::WatchEvent> changes(Span span, std::string_view key,
                                                        std::string_view range_end) const;

    // The sum of all that is stored, older versions included.
    [[nodiscard]] std::int64_t bytes() const { return bytes_; }

  private:
    struct Version {
        etcd::KeyValue entry;  // without its key
        bool is_removal = false;
    };
    using Versions = std::vector<Version>;  // the newest last
    struct Change {
        etcd::Revision revision;
        std::string key;
    };

    [[nodiscard]] static const Version* version_at(const Versions& versions, etcd::Revision at);
    [[nodiscard]] const Version* find(const std::string& key) const;
    [[nodiscard]] bool is_true(const etcd::Compare& condition) const;
    void decide(const etcd::Transaction& transaction, std::vector<bool>& decisions) const;
    void perform(const etcd::Transaction& transaction, const std::vector<bool>& decisions,
                 std::size_t& index, etcd::TransactionAnswer* answer);
    void put(const etcd::Operation& step);
    void remove(const std::string& key, const std::string& range_end);
    void add(const std::string& key, Version version);
    [[nodiscard]] etcd::RangeAnswer read(const etcd::RangeRequest& request,
                                         etcd::Revision at) const;

    std::map<std::string, Versions> keys_;
    std::vector<Change> changes_;  // since the last compaction, in order
    etcd::Revision revision_ = 1;
    etcd::Revision compacted_ = 0;
    bool has_changed_ = false;  // in the transaction that is done now
    std::int64_t bytes_ = 0;
};

// Whether it could put something: a full etcd refuses it.
[[nodiscard]] bool has_put(const etcd::Transaction& transaction);

}  // namespace holdfast::sim
