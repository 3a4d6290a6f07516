#pragma once

// Wire: the messages of etcd's v3 API as protobuf. The numbers of the fields are those of etcd's
// rpc.proto and kv.proto; they are the same from 3.4 to 3.6.
//
// Decoding bears any bytes. It skips unknown fields, and fails on what is malformed and on what is
// larger than the limits below, so that a wrong or hostile peer cannot take all memory: two bytes on
// the wire may stand for an entry of a hundred bytes in memory.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "etcd/wire/messages.h"

namespace holdfast::etcd {

// Entries in one answer, and ranges in the answer to one transaction.
inline constexpr std::size_t entries_max = 1'000'000;
inline constexpr std::size_t ranges_max = 10'000;

[[nodiscard]] std::string encode_range(const RangeRequest& request);
[[nodiscard]] std::string encode_transaction(const Transaction& transaction);
[[nodiscard]] std::string encode_compaction(Revision revision);
[[nodiscard]] std::string encode_grant(LeaseId id, std::int64_t ttl_seconds);
// To renew a lease, and to revoke it.
[[nodiscard]] std::string encode_lease(LeaseId id);

struct WatchRequest {
    std::string key;
    std::string range_end;
    Revision start = 0;
};
[[nodiscard]] std::string encode_watch(const WatchRequest& request);

struct Credentials {
    std::string user;
    std::string password;
};
[[nodiscard]] std::string encode_authenticate(const Credentials& credentials);

// No value if the bytes are not such an answer.
[[nodiscard]] std::optional<RangeAnswer> decode_range(std::string_view bytes);
[[nodiscard]] std::optional<TransactionAnswer> decode_transaction(std::string_view bytes);
// The answer to a compaction has a header and nothing else.
[[nodiscard]] std::optional<Revision> decode_compaction(std::string_view bytes);
// To granting and to renewing.
[[nodiscard]] std::optional<LeaseAnswer> decode_lease(std::string_view bytes);
// To revoking, which has a header and nothing else.
[[nodiscard]] std::optional<LeaseAnswer> decode_revocation(std::string_view bytes);
[[nodiscard]] std::optional<StatusAnswer> decode_status(std::string_view bytes);
// The token.
[[nodiscard]] std::optional<std::string> decode_authenticate(std::string_view bytes);

struct WatchAnswer {
    Revision revision = 0;
    bool is_cancelled = false;
    Revision compact_revision = 0;  // of a watch that began before it; else 0
    std::string cancel_reason;
    std::vector<WatchEvent> events;
};
[[nodiscard]] std::optional<WatchAnswer> decode_watch(std::string_view bytes);

}  // namespace holdfast::etcd
