#pragma once

// Writing an answer of the file door: status, headers and JSON body. What went wrong is always
// `{"error":"brief","message":"for people"}`, and what else there is to know.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/values/request.h"
#include "doors/hengdang/lock_times.h"
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

// An answer that may travel from thread to thread.
struct FileAnswer {
    int status = 500;
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string content_type{json_type};  // empty: none is named
};

// Its headers in the form that replies take; good as long as the answer.
[[nodiscard]] std::vector<net::HttpHeader> headers_of(const FileAnswer& answer);
void send(net::DeferredReply& reply, const FileAnswer& answer);

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): as in the body
[[nodiscard]] FileAnswer refuse(int status, std::string_view error, std::string_view message);
[[nodiscard]] FileAnswer refuse(files::PathFault fault);
[[nodiscard]] FileAnswer refuse(const files::FileError& error);
// 503: the service could not do anything.
[[nodiscard]] FileAnswer refuse_failed(const service::Response& response);
[[nodiscard]] FileAnswer refuse_method(std::string_view allowed);
// 412. `etag` of the version that is there; empty: not told.
[[nodiscard]] FileAnswer refuse_precondition(std::string_view message, std::string_view etag);

// 401: nobody is known by what the request bears.
enum class NoSession { none_shown, unknown };
[[nodiscard]] FileAnswer refuse(NoSession why);

// What a version's headers say: ETag, Last-Modified, X-Inode.
void add_version_headers(FileAnswer& answer, const files::FileInfo& info);
[[nodiscard]] FileAnswer tell_written(const files::FilePath& path,
                                      const files::Committed& committed);
[[nodiscard]] FileAnswer tell_listing(const files::Listing& listing);

// Who holds a path, as far as others may know.
struct LockNote {
    std::string locked_by;
    std::int64_t locked_at_ms = 0;
    std::int64_t expires_at_ms = 0;
};
[[nodiscard]] LockNote note_of(const core::LeaseView& lease, const LockTimes& times,
                               const service::Clock& clock);

// 423 with the five fields.
[[nodiscard]] FileAnswer refuse_locked(const LockNote& lock);
// The lock was lost, and nobody else has it.
[[nodiscard]] FileAnswer refuse_lost();
// 503: the server is about to end, and gives out no more locks.
[[nodiscard]] FileAnswer refuse_stopping();
// What an acquire that was neither granted nor renewed is told.
[[nodiscard]] FileAnswer refuse_lock(const service::Response& response, const LockTimes& times,
                                     const service::Clock& clock);

[[nodiscard]] FileAnswer tell_lock(std::string_view message, std::string_view path,
                                   std::string_view session_name = {});
[[nodiscard]] FileAnswer tell_status(const std::optional<LockNote>& lock, bool is_own);
[[nodiscard]] FileAnswer refuse_not_owned();

// 201 with the id, told this once, and the cookie.
[[nodiscard]] FileAnswer tell_new_session(const files::SessionBook::NewSession& session,
                                          bool is_secure);
[[nodiscard]] FileAnswer tell_session(const files::Session& session);
[[nodiscard]] FileAnswer tell_sessions(const std::vector<files::Session>& sessions,
                                       std::string_view own_name);
// 204. With a cookie that replaces the session's, if that was the asker's own.
[[nodiscard]] FileAnswer tell_session_ended(bool is_own);

}  // namespace holdfast::doors::hengdang
