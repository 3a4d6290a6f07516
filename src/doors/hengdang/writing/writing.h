#pragma once

// Writing: takes the body of a PUT or PATCH to the disk, and makes it the file if it may.
//
// Two things go on side by side: the lock is asked for, and the bytes go to a temporary file; the
// commit needs both. What has arrived and is not on its way to the disk waits in memory, and when
// that is much the peer is not read from. Whatever goes wrong first is the answer, and leaves the
// file as it was.
//
// At the commit the session and its lock are asked for again (WritePermit, LeaseDesk): a session
// that has ended or has lost the lock meanwhile cannot change anything. So it is with a Lock-Token,
// in whose place no lock is taken before the commit.

#include <cstdint>
#include <memory>
#include <optional>

#include "doors/hengdang/exchange.h"
#include "doors/hengdang/http/byte_range.h"
#include "doors/hengdang/http/conditions.h"
#include "net/http/http_body.h"

namespace holdfast::doors::hengdang {

struct WriteOrder {
    files::FilePath path;
    Conditions conditions;
    std::optional<ByteSpan> region;         // of a PATCH
    std::optional<std::uint64_t> length;    // of the body, if it is known
    std::optional<core::Token> lock_token;  // that of nobody where the text makes none
    std::string session_name;
    bool is_asked_first = false;  // the client sends the body when it is told to
};

// Takes the body.
[[nodiscard]] std::unique_ptr<net::BodySink> begin_writing(const HengdangPlace& place,
                                                           WriteOrder order, net::HttpReply& reply,
                                                           net::BodySource& source);

// What a DELETE of a file needs. It takes the lock like a PUT.
struct RemoveOrder {
    files::FilePath path;
    Conditions conditions;
    std::optional<core::Token> lock_token;
    std::string session_name;
};
void begin_removing(const HengdangPlace& place, RemoveOrder order, net::HttpReply& reply);

}  // namespace holdfast::doors::hengdang
