#pragma once

// Reading the parts of a request to the file door: path, query, ranges and token.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/values/ids.h"
#include "core/values/request.h"
#include "doors/hengdang/http/file_answer.h"
#include "files/path/file_path.h"
#include "files/tree/listing.h"
#include "net/http/http_message.h"

namespace holdfast::doors::hengdang {

// The decoded path of the request.
[[nodiscard]] Parsed<files::FilePath> read_path(std::string_view encoded);

// How long a lock on a file lasts, and the longest time that a client may ask for.
inline constexpr std::chrono::seconds lock_time{1800};

enum class LockAction { acquire, release, refresh, status };
struct LockWish {
    LockAction action;
    core::Duration ttl = lock_time;  // of acquire and refresh
};
// What `?lock=` and `ttl=` ask for; nothing if the query has no `lock`.
[[nodiscard]] Parsed<std::optional<LockWish>> read_lock_wish(std::string_view query);

// The parameters of a listing: limit, cursor, reverse and shallow. The cursor is a path as answers
// show it: see shown_path().
[[nodiscard]] Parsed<files::ListOptions> read_list_options(std::string_view query);

// Half-open: [start, end).
struct ByteSpan {
    std::uint64_t start = 0;
    std::uint64_t end = 0;

    bool operator==(const ByteSpan&) const = default;
    [[nodiscard]] std::uint64_t size() const { return end - start; }
};

struct RangeChoice {
    enum class Kind { whole, part, unsatisfiable };

    Kind kind = Kind::whole;
    ByteSpan span;  // of a part

    bool operator==(const RangeChoice&) const = default;
};

// The part of a file of that size that `Range: bytes=0-499` asks for. A header that is malformed,
// has another unit, or asks for several ranges means the whole file: HTTP leaves that to the
// server.
[[nodiscard]] RangeChoice choose_range(std::string_view header, std::uint64_t size_bytes);

// Where `Content-Range: bytes 0-499/*` puts the body of a PATCH; nothing if the header is
// malformed. The size of the whole file, after the slash, is ignored.
[[nodiscard]] std::optional<ByteSpan> parse_content_range(std::string_view header);

// The Lock-Token header. Nothing if there is none; a malformed one is a token that no lease has.
[[nodiscard]] std::optional<core::Token> read_lock_token(const net::HttpRequest& request);

inline constexpr std::string_view session_cookie = "hengdang_session";

// The value of a cookie; empty if there is none of this name.
[[nodiscard]] std::string_view cookie_of(const net::HttpRequest& request, std::string_view name);

}  // namespace holdfast::doors::hengdang
