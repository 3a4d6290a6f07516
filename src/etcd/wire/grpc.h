#pragma once

// gRPC: what stands between a message of etcd and HTTP/2.
//
// A message has five bytes before it: 0 (not compressed) and its length, big endian. The trailers of
// an answer have the code and a text for people.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "etcd/api.h"

namespace holdfast::etcd {

inline constexpr std::size_t frame_head_bytes = 5;
// Of an answer. Whoever reads much reads it in pages.
inline constexpr std::size_t answer_bytes_max = std::size_t{64} * 1024 * 1024;

namespace paths {
inline constexpr const char* range = "/etcdserverpb.KV/Range";
inline constexpr const char* transaction = "/etcdserverpb.KV/Txn";
inline constexpr const char* compact = "/etcdserverpb.KV/Compact";
inline constexpr const char* grant = "/etcdserverpb.Lease/LeaseGrant";
inline constexpr const char* revoke = "/etcdserverpb.Lease/LeaseRevoke";
inline constexpr const char* keep_alive = "/etcdserverpb.Lease/LeaseKeepAlive";
inline constexpr const char* watch = "/etcdserverpb.Watch/Watch";
inline constexpr const char* status = "/etcdserverpb.Maintenance/Status";
inline constexpr const char* authenticate = "/etcdserverpb.Auth/Authenticate";
}  // namespace paths

// The message as it is sent. REQUIRES: shorter than 4 GiB.
[[nodiscard]] std::string to_frame(std::string_view message);

// Puts messages together from the pieces in which they arrive.
class FrameReader {
  public:
    // Takes what has arrived. False if it is no frame, or larger than answer_bytes_max: nothing more
    // can be read.
    [[nodiscard]] bool add(std::string_view bytes);
    // The next message that is complete.
    [[nodiscard]] std::optional<std::string> take();
    // Whether everything was taken: the stream may end here.
    [[nodiscard]] bool is_empty() const { return buffer_.empty(); }
    // Whether the message that has begun is larger than answer_bytes_max.
    [[nodiscard]] bool is_too_large() const;

  private:
    [[nodiscard]] std::size_t message_bytes() const;
    [[nodiscard]] bool is_acceptable() const;

    std::string buffer_;
};

// How a stream has ended, as its peer says it.
struct StreamEnd {
    int http_status = 0;  // 0: there was no answer
    int code = -1;        // of gRPC; -1: there was none
    std::string message;  // of gRPC, percent-encoded
    std::uint32_t http2_error = 0;
    bool is_too_large = false;  // the answer is larger than answer_bytes_max, and was not read
};

// Why there is no good answer. `member` names the member for people. REQUIRES: end.code is not 0.
[[nodiscard]] Failure explain(const StreamEnd& end, const std::string& member);

// Whether etcd asks for a new token. It has done nothing then.
[[nodiscard]] bool wants_new_token(const StreamEnd& end);

// The codes of gRPC that are looked at.
enum Code : int {
    code_ok = 0,
    code_invalid_argument = 3,
    code_not_found = 5,
    code_permission_denied = 7,
    code_resource_exhausted = 8,
    code_failed_precondition = 9,
    code_out_of_range = 11,
    code_unimplemented = 12,
    code_data_loss = 15,
    code_unauthenticated = 16,
};

}  // namespace holdfast::etcd
