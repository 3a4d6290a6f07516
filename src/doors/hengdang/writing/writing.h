#pragma once

// Requests that change a file: PUT, PATCH and DELETE.
//
// A PUT or PATCH does two things side by side: it asks for the lock, and it writes the body to a
// temporary file. The commit needs both. The bytes that have arrived and are not yet being written
// wait in memory; when there are too many of them, the server stops reading from the client. The
// first thing that goes wrong is the answer, and the file stays as it was.
//
// At the commit the session and its lock are checked again (WritePermit, BlockingLocks): a session
// that has ended or has lost the lock meanwhile changes nothing. A request with a Lock-Token asks
// for no lock before its commit; the lease of the token is checked instead.
//
// writing.cc opens with the states of a PUT or PATCH.

#include <cstdint>
#include <memory>
#include <optional>

#include "doors/hengdang/exchange.h"
#include "doors/hengdang/http/byte_range.h"
#include "doors/hengdang/http/conditions.h"
#include "net/http/http_body.h"

namespace holdfast::doors::hengdang {

struct WriteRequest {
    files::FilePath path;
    Conditions conditions;
    std::optional<ByteSpan> region;         // of a PATCH
    std::optional<std::uint64_t> length;    // of the body, if it is known
    std::optional<core::Token> lock_token;  // a malformed one is a token that no lease has
    std::string session_name;
    bool is_asked_first = false;  // the client sends the body only after `100 Continue`
};

// Begins a PUT or PATCH and returns the sink for its body. On the loop.
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
};
void begin_removing(const HengdangContext& context, RemoveRequest request, net::HttpReply& reply);

}  // namespace holdfast::doors::hengdang
