// hengdang_fuzzer: any bytes as the header of a request to the file door.
//
// Whatever is read from it must be something the door can work with: paths that stay inside, spans
// that are not empty and lie in the file, pages within their limit, dates that read back.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "doors/hengdang/http/conditions.h"
#include "doors/hengdang/http/request_parts.h"
#include "net/client/url.h"
#include "net/http/http_parser.h"

namespace holdfast::doors::hengdang {
namespace {

constexpr std::uint64_t file_bytes = 1000;

void read_target(const net::HttpRequest& request) {
    if (const auto path = read_path(request.path)) {
        CHECK(path->text().starts_with('/') && path->text().find("/../") == std::string::npos);
        const auto again = read_path(net::percent_encode_path(path->text()));
        CHECK(again && again->text() == path->text());
    } else {
        CHECK(path.error().status == 400 && !path.error().body.empty());
    }
    if (const auto action = read_lock_wish(request.query); !action)
        CHECK(action.error().status == 400);
    if (const auto page = read_list_options(request.query)) {
        CHECK(page->limit >= 1 && page->limit <= files::list_limit_max);
    }
}

void read_headers(const net::HttpRequest& request) {
    const auto choice = choose_range(request.header("Range").value_or(""), file_bytes);
    if (choice.kind == RangeChoice::Kind::part) {
        CHECK(choice.span.start < choice.span.end && choice.span.end <= file_bytes);
    }
    if (const auto span = parse_content_range(request.header("Content-Range").value_or(""))) {
        CHECK(span->start < span->end);
    }
    if (const auto text = request.header("If-Modified-Since")) {
        if (const auto date = parse_http_date(*text)) CHECK(to_http_date(*date) == *text);
    }
    if (const auto conditions = read_conditions(request)) {
        const files::FileInfo info{.hash = "abc", .timestamp_ms = 784'111'777'500};
        static_cast<void>(find_broken(*conditions, nullptr));
        static_cast<void>(find_broken(*conditions, &info));
        static_cast<void>(judge_read(*conditions, info));
    } else {
        CHECK(conditions.error().status == 400);
    }
    static_cast<void>(read_lock_token(request));
    const std::string_view id = cookie_of(request, session_cookie);
    CHECK(id.empty() || (id.data() >= request.message && id.find('\n') == std::string_view::npos));
}

void run(std::string_view input) {
    const net::HttpLimits limits;
    net::HttpParser parser(limits);
    if (parser.parse_header(input) != net::HttpParser::Outcome::complete) return;
    const net::HttpRequest request = parser.request(input);
    read_target(request);
    read_headers(request);
}

}  // namespace
}  // namespace holdfast::doors::hengdang

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    holdfast::doors::hengdang::run({reinterpret_cast<const char*>(data), size});
    return 0;
}
