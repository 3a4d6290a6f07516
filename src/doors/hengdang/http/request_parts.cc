#include "doors/hengdang/http/request_parts.h"

#include <algorithm>

#include "base/text/duration.h"
#include "base/text/number.h"
#include "core/values/ids.h"
#include "net/client/url.h"

namespace holdfast::doors::hengdang {

namespace {

tl::unexpected<FileAnswer> refuse_query(std::string_view message) {
    return tl::unexpected(refuse(400, "Invalid query", message));
}

using Parameter = Parsed<std::optional<std::string>>;

Parameter read_parameter(std::string_view query, std::string_view name) {
    auto value = net::query_parameter(query, name);
    if (!value) return refuse_query(value.error().message);
    return std::move(*value);
}

// `?shallow`, `?shallow=true`, `?shallow=1`; or `?shallow=false`, `?shallow=0`. Without the
// parameter the flag stays as it is.
Parsed<bool> read_flag(std::string_view query, std::string_view name, bool is_set) {
    TRY(const auto value, read_parameter(query, name));
    if (!value) return is_set;
    const std::string& text = *value;
    if (text == "false" || text == "0") return false;
    if (text.empty() || text == "true" || text == "1") return true;
    return refuse_query(std::string(name) + " must be true or false");
}

Parsed<LockAction> read_lock_action(std::string_view value) {
    if (value == "acquire") return LockAction::acquire;
    if (value == "release") return LockAction::release;
    if (value == "refresh") return LockAction::refresh;
    if (value == "status") return LockAction::status;
    return tl::unexpected(
        refuse(400, "Invalid lock operation", "lock must be acquire, release, refresh or status"));
}

using Number = std::optional<std::uint64_t>;

Number parse_number(std::string_view text) {
    return base::parse_decimal<std::uint64_t>(text);
}

// `500-` and `500-999`.
RangeChoice choose_from_start(std::uint64_t first, std::string_view last_text,
                              std::uint64_t size_bytes) {
    using Kind = RangeChoice::Kind;
    if (last_text.empty()) {
        if (first >= size_bytes) return {.kind = Kind::unsatisfiable};
        return {.kind = Kind::part, .span = {.start = first, .end = size_bytes}};
    }
    const Number last = parse_number(last_text);
    if (!last || *last < first) return {};
    if (first >= size_bytes) return {.kind = Kind::unsatisfiable};
    const std::uint64_t end = *last >= size_bytes ? size_bytes : *last + 1;
    return {.kind = Kind::part, .span = {.start = first, .end = end}};
}

}  // namespace

Parsed<files::FilePath> read_path(std::string_view encoded) {
    const auto decoded = net::percent_decode(encoded);
    if (!decoded) return tl::unexpected(refuse(400, "Invalid path", decoded.error().message));
    auto path = files::FilePath::parse(*decoded);
    if (!path) return tl::unexpected(refuse(path.error()));
    return std::move(*path);
}

Parsed<std::optional<LockWish>> read_lock_wish(std::string_view query) {
    TRY(const auto value, read_parameter(query, "lock"));
    if (!value) return std::nullopt;
    TRY(const auto action, read_lock_action(*value));
    TRY(const auto ttl, read_parameter(query, "ttl"));
    if (!ttl) return LockWish{.action = action};
    if (action != LockAction::acquire && action != LockAction::refresh) {
        return refuse_query("ttl belongs to lock=acquire and lock=refresh");
    }
    const auto time = base::parse_duration(*ttl);
    if (!time || *time < std::chrono::seconds{1} || *time > lock_time) {
        return refuse_query("ttl must be a duration from 1s to 30m, such as 60s");
    }
    return LockWish{.action = action, .ttl = std::chrono::ceil<core::Duration>(*time)};
}

Parsed<files::ListOptions> read_list_options(std::string_view query) {
    files::ListOptions options;
    TRY(const auto limit, read_parameter(query, "limit"));
    if (limit) {
        const auto number = base::parse_decimal<std::uint64_t>(*limit);
        if (!number || *number == 0) return refuse_query("limit must be a number from 1 on");
        options.limit = std::min<std::size_t>(*number, files::list_limit_max);
    }
    TRY(const auto cursor, read_parameter(query, "cursor"));
    if (cursor && !cursor->empty()) {
        auto path = read_path(*cursor);
        if (!path) {
            return tl::unexpected(
                refuse(400, "Invalid cursor", "cursor must be the nextCursor of the page before"));
        }
        options.cursor = std::move(*path);
    }
    TRY(options.is_reverse, read_flag(query, "reverse", options.is_reverse));
    TRY(options.is_shallow, read_flag(query, "shallow", options.is_shallow));
    return options;
}

RangeChoice choose_range(std::string_view header, std::uint64_t size_bytes) {
    using Kind = RangeChoice::Kind;
    const std::string_view unit = "bytes=";
    if (!header.starts_with(unit)) return {};
    header.remove_prefix(unit.size());
    const std::size_t dash = header.find('-');
    if (dash == std::string_view::npos) return {};
    const std::string_view first_text = header.substr(0, dash), last_text = header.substr(dash + 1);
    if (first_text.empty()) {  // `-500`: the last 500 bytes
        const Number count = parse_number(last_text);
        if (!count) return {};
        if (*count == 0 || size_bytes == 0) return {.kind = Kind::unsatisfiable};
        return {.kind = Kind::part,
                .span = {.start = size_bytes - std::min(*count, size_bytes), .end = size_bytes}};
    }
    const Number first = parse_number(first_text);
    return first ? choose_from_start(*first, last_text, size_bytes) : RangeChoice{};
}

std::optional<ByteSpan> parse_content_range(std::string_view header) {
    const std::string_view unit = "bytes ";
    if (!header.starts_with(unit)) return std::nullopt;
    header.remove_prefix(unit.size());
    const std::size_t dash = header.find('-'), slash = header.find('/');
    if (dash == std::string_view::npos || slash == std::string_view::npos || dash > slash) {
        return std::nullopt;
    }
    const Number first = parse_number(header.substr(0, dash));
    const Number last = parse_number(header.substr(dash + 1, slash - dash - 1));
    const std::string_view whole = header.substr(slash + 1);
    if (!first || !last || *last < *first || *last >= INT64_MAX) return std::nullopt;
    if (whole != "*" && !parse_number(whole)) return std::nullopt;
    return ByteSpan{.start = *first, .end = *last + 1};
}

std::optional<core::Token> read_lock_token(const net::HttpRequest& request) {
    const auto text = request.header("Lock-Token");
    if (!text) return std::nullopt;
    return core::parse_token(*text).value_or(core::Token{});
}

std::string_view cookie_of(const net::HttpRequest& request, std::string_view name) {
    std::string_view rest = request.header("Cookie").value_or("");
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(';'), rest.size());
        std::string_view item = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        item.remove_prefix(std::min(item.find_first_not_of(' '), item.size()));
        if (item.starts_with(name) && item.substr(name.size()).starts_with('=')) {
            return item.substr(name.size() + 1);
        }
    }
    return {};
}

}  // namespace holdfast::doors::hengdang
