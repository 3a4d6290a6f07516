#pragma once

// Writing an answer of the file door: status, headers and JSON body. An error is always
// `{"error":"brief","message":"for people"}`, with further fields where they help.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "core/values/request.h"
#include "doors/hengdang/writing/session_locks.h"
#include "files/login/session_book.h"
#include "files/path/file_error.h"
#include "files/path/file_path.h"
#include "files/tree/listing.h"
#include "files/tree/upload.h"
#include "net/http/http_reply.h"
#include "service/ports/clock.h"
#include "service/request.h"

namespace holdfast::doors::hengdang {

inline constexpr std::string_view json_type = "application/json";

// An answer that may be passed from thread to thread.
struct FileAnswer {
    int status = 500;
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string content_type{json_type};  // empty: no Content-Type header
};

// What was read from a request, or the answer that refuses the request.
template <class T>
using Parsed = tl::expected<T, FileAnswer>;

// The path as answers show it: a client that puts the text into a URL gets back to the file. So `%`,
// `?`, `#`, blanks and the like are percent-encoded. A directory ends in a slash.
enum class PathKind { file, directory };
[[nodiscard]] std::string shown_path(std::string_view path, PathKind kind = PathKind::file);

// The headers in the form that replies take. They point into the answer. An answer that does not say
// how long a browser may keep it says `Cache-Control: private, no-cache`.
[[nodiscard]] std::vector<net::HttpHeader> headers_of(const FileAnswer& answer);
void send(net::DeferredReply& reply, const FileAnswer& answer);

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): in the order of the body
[[nodiscard]] FileAnswer refuse(int status, std::string_view error, std::string_view message);
[[nodiscard]] FileAnswer refuse(files::PathFault fault);
[[nodiscard]] FileAnswer refuse(const files::FileError& error);
// 503: the store of the lock service failed or is busy.
[[nodiscard]] FileAnswer refuse_failed(const service::Response& response);
[[nodiscard]] FileAnswer refuse_method(std::string_view allowed);
// 412. `etag` is that of the version that is there; empty: it is not shown.
[[nodiscard]] FileAnswer refuse_precondition(std::string_view message, std::string_view etag);

// 401: the request has no session id, or one of no live session.
enum class NoSession { none_shown, unknown };
[[nodiscard]] FileAnswer refuse(NoSession why);

// `["read"]` or `["read","write"]`.
[[nodiscard]] std::string_view to_json(files::Permission permission);
// 403: the session may only read.
[[nodiscard]] FileAnswer refuse_permission(files::Permission permission);

// Adds the headers that describe a version: ETag, Last-Modified, X-Inode.
void add_version_headers(FileAnswer& answer, const files::FileInfo& info);
[[nodiscard]] FileAnswer tell_written(const files::FilePath& path,
                                      const files::Committed& committed);
// 201. `owner` is that of the session that has made the directory.
struct MadeDirectory {
    const files::FilePath& path;
    std::string_view owner;
    std::int64_t created_ms = 0;
};
[[nodiscard]] FileAnswer tell_made(const MadeDirectory& made);
// `owner`: of all entries; empty: it is not known.
[[nodiscard]] FileAnswer tell_listing(const files::Listing& listing, std::string_view owner);

// The holder of a lock, as other sessions may see it.
struct LockNote {
    std::string locked_by;
    std::int64_t locked_at_ms = 0;
    std::int64_t expires_at_ms = 0;  // 0: the lock has no end
};
[[nodiscard]] LockNote note_of(const core::LeaseView& lease, const LockTimes& times,
                               const service::Clock& clock);

// 423: another session holds the lock.
[[nodiscard]] FileAnswer refuse_locked(const LockNote& lock);
// 423: the lock was lost, and nobody else holds it.
[[nodiscard]] FileAnswer refuse_lost();
// 503: the server is stopping and grants no more locks.
[[nodiscard]] FileAnswer refuse_stopping();
// The answer to an acquire that was neither granted nor renewed.
[[nodiscard]] FileAnswer refuse_lock(const service::Response& response, const LockTimes& times,
                                     const service::Clock& clock);

[[nodiscard]] FileAnswer tell_lock(std::string_view message, std::string_view path,
                                   std::string_view session_name = {});
[[nodiscard]] FileAnswer tell_status(const std::optional<LockNote>& lock, bool is_own);
[[nodiscard]] FileAnswer refuse_not_owned();

}  // namespace holdfast::doors::hengdang
