#pragma once

// What is said to etcd and what etcd answers, as plain data: the part of its v3 API that Holdfast
// uses. Keys and values are bytes. How the messages look on the wire is in wire.h.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::etcd {

// Of etcd's whole store: it grows with every transaction that changes something.
using Revision = std::int64_t;
// Of a lease in etcd; 0 is none.
using LeaseId = std::int64_t;

struct KeyValue {
    std::string key;
    std::string value;
    Revision create_revision = 0;
    Revision mod_revision = 0;
    std::int64_t version = 0;
    LeaseId lease = 0;
};

// Reads `key`, or with `range_end` all keys from `key` up to it (excluded).
struct RangeRequest {
    std::string key;
    std::string range_end = {};
    std::int64_t limit = 0;  // 0: none
    Revision revision = 0;   // 0: the newest
    bool is_count_only = false;
};

struct RangeAnswer {
    Revision revision = 0;  // of the store when it answered
    std::vector<KeyValue> found;
    bool has_more = false;
    std::int64_t count = 0;
};

// The end of the range of all keys that begin with `prefix`.
[[nodiscard]] std::string end_of_prefix(std::string_view prefix);

// A condition of a transaction. A key that does not exist has the numbers 0; its value equals
// nothing.
struct Compare {
    enum class Target : std::uint8_t { version, create_revision, mod_revision, value, lease };
    enum class Result : std::uint8_t { equal, greater, less, not_equal };

    Target target = Target::version;
    Result result = Result::equal;
    std::string key;
    std::int64_t number = 0;  // unless the target is the value
    std::string value = {};
};

struct Transaction;

// One step of a transaction. A key may be changed only once in a transaction, nested ones included.
struct Operation {
    enum class Kind : std::uint8_t { range, put, remove, transaction };

    Kind kind = Kind::range;
    std::string key;
    std::string range_end = {};  // range, remove
    std::string value = {};      // put
    LeaseId lease = 0;           // put
    // A nested transaction. (Shared, so that a transaction can be sent again without a copy.)
    std::shared_ptr<const Transaction> nested = {};

    [[nodiscard]] static Operation range(std::string key);
    [[nodiscard]] static Operation put(std::string key, std::string value, LeaseId lease = 0);
    [[nodiscard]] static Operation remove(std::string key);
    [[nodiscard]] static Operation transaction(Transaction nested);
};

// Does `then` if every condition is true, and `otherwise` if not; as a whole, or nothing of it.
struct Transaction {
    std::vector<Compare> conditions;
    std::vector<Operation> then;
    std::vector<Operation> otherwise;
};

struct TransactionAnswer {
    Revision revision = 0;
    bool is_true = false;  // `then` was done
    // What the ranges of the branch that was done have found, in their order; those of nested
    // transactions are left out.
    std::vector<RangeAnswer> ranges;
};

struct LeaseAnswer {
    LeaseId id = 0;
    std::int64_t ttl_seconds = 0;  // of a renewal: 0 if the lease is gone
};

struct StatusAnswer {
    std::string version;
    std::int64_t database_bytes = 0;
    std::int64_t database_bytes_in_use = 0;
    std::uint64_t leader = 0;         // a member; 0: there is none
    std::uint64_t member = 0;         // that has answered
    std::vector<std::string> errors;  // alarms among them: a full database is NOSPACE
};

struct WatchEvent {
    bool is_removal = false;
    KeyValue entry;
};

}  // namespace holdfast::etcd
