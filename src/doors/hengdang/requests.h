#pragma once

// The requests of the file door, by what they do. Each function begins one on the loop; the answer
// follows when the disk and the locks have been asked.
//
// Thread safety: on the loop of the context.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "doors/hengdang/exchange.h"
#include "doors/hengdang/http/conditions.h"
#include "doors/hengdang/http/request_parts.h"
#include "net/http/http_body.h"

namespace holdfast::doors::hengdang {

// GET and HEAD of a file or a directory.
//
// The version is opened once and read to its end, even if the path changes meanwhile. A small file
// is read at once and sent in one answer. A large file is sent in pieces: while one piece travels
// to the peer, the next one is read, and no more than these two are in memory.
struct ReadRequest {
    files::FilePath path;
    Conditions conditions;
    std::string range, if_range;  // as sent; empty: none
    bool is_head = false;
    files::ListOptions list;  // of a directory
    rights::TokenPtr client;  // null: it has no limits
};
void begin_reading(const HengdangContext& context, ReadRequest request, net::HttpReply& reply);

// PUT of a file, PATCH of a part of it.
//
// The request does two things side by side: it asks for the lock, and it writes the body to a
// temporary file. The commit needs both. The bytes that have arrived and are not yet being written
// wait in memory; when there are too many of them, the server stops reading from the client. The
// first thing that goes wrong is the answer, and the file stays as it was.
//
// At the commit the session and its lock are checked again (WritePermit, BlockingLocks): a session
// that has ended or has lost the lock meanwhile changes nothing, and so does a session whose token has
// lost the right to the path. A request with a Lock-Token asks
// for no lock before its commit; the lease of the token is checked instead.
//
// writing/writing.cc opens with the states of the request.
struct WriteRequest {
    files::FilePath path;
    Conditions conditions;
    std::optional<ByteSpan> region;         // of a PATCH
    std::optional<std::uint64_t> length;    // of the body, if it is known
    std::optional<core::Token> lock_token;  // a malformed one is a token that no lease has
    std::string session_name;
    rights::TokenPtr client = {};  // Visitor::client
    std::string by = {};           // Visitor::by
    bool is_asked_first = false;   // the client sends the body only after `100 Continue`
};

// Returns the sink for the body.
[[nodiscard]] std::unique_ptr<net::BodySink> begin_writing(const HengdangContext& context,
                                                           WriteRequest request,
                                                           net::HttpReply& reply,
                                                           net::BodySource& source);

// A DELETE of a file. It asks for the lock like a PUT.
struct RemoveRequest {
    files::FilePath path;
    Conditions conditions;
    std::optional<core::Token> lock_token;
    std::string session_name;
    rights::TokenPtr client;  // Visitor::client
    std::string by;           // Visitor::by
};
void begin_removing(const HengdangContext& context, RemoveRequest request, net::HttpReply& reply);

// `GET /<file>?lock=acquire|release|refresh|status`.
struct LockRequest {
    LockWish wish;
    files::FilePath path;
    std::string session_name;  // of a live session
    rights::TokenPtr client;   // Visitor::client
    std::string by;            // Visitor::by
};
void run_lock_request(const std::shared_ptr<Exchange>& exchange, const LockRequest& lock);

// Logging in and out: `/auth/session`, `/auth/sessions` and `/auth/sessions/<name>`.
[[nodiscard]] bool is_session_path(std::string_view path);
// REQUIRES: is_session_path(path).
void handle_session_request(const HengdangContext& context, std::string_view path,
                            const net::HttpRequest& request, net::HttpReply& reply);

}  // namespace holdfast::doors::hengdang
