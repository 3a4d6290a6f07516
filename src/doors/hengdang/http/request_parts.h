#pragma once

// The parts of a request to the file door that several methods share.

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "core/values/ids.h"
#include "doors/hengdang/http/file_answer.h"
#include "files/login/session_book.h"
#include "files/path/file_path.h"
#include "files/tree/listing.h"
#include "net/http/http_message.h"
#include "service/ports/clock.h"

namespace holdfast::doors::hengdang {

template <class T>
using Parsed = tl::expected<T, FileAnswer>;

// The path of the target, decoded.
[[nodiscard]] Parsed<files::FilePath> read_path(std::string_view encoded);

enum class LockAction { acquire, release, refresh, status };
// What `?lock=` asks for; nothing where there is none.
[[nodiscard]] Parsed<std::optional<LockAction>> read_lock_action(std::string_view query);

// limit, cursor, reverse and shallow of a listing.
[[nodiscard]] Parsed<files::ListOptions> read_list_options(std::string_view query);

// The Lock-Token header: nothing if there is none, the token of nobody if it spells none.
[[nodiscard]] std::optional<core::Token> read_lock_token(const net::HttpRequest& request);

// What follows `Bearer` in the Authorization header; empty if there is none.
[[nodiscard]] std::string_view bearer_of(const net::HttpRequest& request);
// The id of a session as the request bears it, in the header or the cookie; empty if there is none.
[[nodiscard]] std::string_view session_id_of(const net::HttpRequest& request);

// Who asks.
[[nodiscard]] Parsed<files::Session> find_session(const net::HttpRequest& request,
                                                  const files::SessionBook& sessions,
                                                  service::WallTime now);

}  // namespace holdfast::doors::hengdang
