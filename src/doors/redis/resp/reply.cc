#include "doors/redis/resp/reply.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace holdfast::doors::redis {

namespace {

void append_line(std::string& out, char sign, std::string_view text) {
    out += sign;
    const std::size_t begin = out.size();
    out += text;
    const auto is_line_end = [](char character) { return character == '\r' || character == '\n'; };
    std::replace_if(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), is_line_end, ' ');
    out += "\r\n";
}

void append_number(std::string& out, char sign, std::int64_t number) {
    fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}{}\r\n"), sign, number);
}

void append_items(std::string& out, const Reply& reply, RespVersion version) {
    for (const Reply& item : reply.items) append_reply(out, item, version);
}

}  // namespace

void append_reply(std::string& out, const Reply& reply, RespVersion version) {
    const bool is_resp3 = version == RespVersion::resp3;
    const auto size = static_cast<std::int64_t>(reply.items.size());
    switch (reply.kind) {
        case Reply::Kind::status: return append_line(out, '+', reply.text);
        case Reply::Kind::error: return append_line(out, '-', reply.text);
        case Reply::Kind::integer: return append_number(out, ':', reply.number);
        case Reply::Kind::bulk:
            append_number(out, '$', static_cast<std::int64_t>(reply.text.size()));
            out += reply.text;
            out += "\r\n";
            return;
        case Reply::Kind::null: out += is_resp3 ? "_\r\n" : "$-1\r\n"; return;
        case Reply::Kind::null_array: out += is_resp3 ? "_\r\n" : "*-1\r\n"; return;
        case Reply::Kind::array:
            append_number(out, '*', size);
            return append_items(out, reply, version);
        case Reply::Kind::map:
            append_number(out, is_resp3 ? '%' : '*', is_resp3 ? size / 2 : size);
            return append_items(out, reply, version);
    }
}

}  // namespace holdfast::doors::redis
