#pragma once

// Reading: sends a file, or a part of it, as fast as its reader takes it.
//
// The version is opened once and read to its end, whatever becomes of the path meanwhile. A small
// one is read at once and sent in one answer. A large one goes in pieces: while one is on its way
// to the peer the next is read, and no more than these two are in memory.
//
// Thread safety: begun on the loop; its parts see to the rest.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "doors/hengdang/exchange.h"
#include "doors/hengdang/http/byte_range.h"
#include "doors/hengdang/http/conditions.h"

namespace holdfast::doors::hengdang {

struct ReadRequest {
    files::FilePath path;
    Conditions conditions;
    std::string range, if_range;  // as sent; empty: none
    bool is_head = false;
    files::ListOptions list;  // if it is a directory
};

// Answers a GET or HEAD of a file or a directory.
void begin_reading(const HengdangContext& context, ReadRequest request, net::HttpReply& reply);

}  // namespace holdfast::doors::hengdang
