#include "doors/hengdang/http/origins.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "doors/hengdang/http/file_answer.h"
#include "net/client/http_address.h"
#include "net/client/url.h"

namespace holdfast::doors::hengdang {

namespace {

constexpr std::string_view allowed_methods = "GET, HEAD, PUT, PATCH, DELETE, POST, OPTIONS";
constexpr std::string_view usual_headers =
    "Authorization, Content-Type, Content-Range, Range, If-Match, If-None-Match, "
    "If-Modified-Since, If-Unmodified-Since, If-Range, Lock-Token, Last-Event-ID, Cache-Control";
constexpr std::string_view preflight_seconds = "600";
constexpr std::string_view vary_line = "Vary: Origin\r\n";
constexpr std::string_view permission_lines =
    "Access-Control-Allow-Credentials: true\r\n"
    "Access-Control-Expose-Headers: ETag, Last-Modified, Location, Content-Range, X-Inode, "
    "Retry-After\r\n"
    "Vary: Origin\r\n";

std::string in_lower_case(std::string_view text) {
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char letter) { return std::tolower(letter); });
    return lower;
}

bool may_see_answers(OriginKind kind) {
    return kind == OriginKind::dashboard || kind == OriginKind::named;
}

}  // namespace

Origins::Origins(std::vector<std::string> named) : named_(std::move(named)) {
    if (!named_.empty()) vary_ = std::make_shared<const std::string>(vary_line);
}

void Origins::allow_dashboard(const net::Endpoint& endpoint, bool has_tls) {
    if (endpoint.is_unix()) return;
    dashboard_scheme_ = has_tls ? "https://" : "http://";
    const std::uint16_t usual_port = has_tls ? 443 : 80;
    if (endpoint.port() != usual_port) dashboard_port_ = ":" + std::to_string(endpoint.port());
    vary_ = std::make_shared<const std::string>(vary_line);
}

OriginKind Origins::find(const net::HttpRequest& request) const {
    const auto origin = request.header("Origin");
    if (!origin) return OriginKind::unknown;
    if (std::ranges::find(named_, *origin) != named_.end()) return OriginKind::named;
    const std::size_t scheme_end = origin->find("://");
    if (scheme_end == std::string_view::npos) return OriginKind::foreign;
    const std::string authority = in_lower_case(request.header("Host").value_or(""));
    if (authority.empty()) return OriginKind::foreign;
    if (origin->substr(scheme_end + 3) == authority) return OriginKind::own;
    const std::string dashboard =
        dashboard_scheme_ + std::string(net::host_of(authority)) + dashboard_port_;
    const bool is_dashboard = !dashboard_scheme_.empty() && *origin == dashboard;
    return is_dashboard ? OriginKind::dashboard : OriginKind::foreign;
}

std::shared_ptr<const std::string> Origins::headers_for(const net::HttpRequest& request) const {
    if (!vary_ || !may_see_answers(find(request))) return vary_;
    std::string lines = "Access-Control-Allow-Origin: ";
    lines.append(*request.header("Origin")).append("\r\n").append(permission_lines);
    return std::make_shared<const std::string>(std::move(lines));
}

bool Origins::is_preflight(const net::HttpRequest& request) {
    return request.method == "OPTIONS" && request.header("Origin") &&
           request.header("Access-Control-Request-Method");
}

void Origins::answer_preflight(const net::HttpRequest& request, net::HttpReply& reply) const {
    if (!may_see_answers(find(request))) {
        const FileAnswer answer =
            refuse(403, "Origin not allowed",
                   "Pages of this origin may not use the files here; the operator allows an origin "
                   "with --files-origin");
        return reply.send(answer.status, answer.content_type, answer.body);
    }
    // The page may send every header: those that the door does not know mean nothing to it.
    const auto headers = request.header("Access-Control-Request-Headers");
    reply.send(204, "", "",
               {{"Access-Control-Allow-Methods", allowed_methods},
                {"Access-Control-Allow-Headers", headers.value_or(usual_headers)},
                {"Access-Control-Max-Age", preflight_seconds}});
}

bool Origins::may_change_by_cookie(const net::HttpRequest& request) const {
    const auto site = request.header("Sec-Fetch-Site");
    if (site == "same-origin") return true;
    const OriginKind kind = find(request);
    if (kind != OriginKind::unknown) return kind != OriginKind::foreign;
    return !site && !has_named();
}

base::Result<std::string> read_origin(std::string_view text) {
    const auto fault = [&](std::string_view why) {
        return base::fail("'" + std::string(text) + "' is not an origin: " + std::string(why) +
                          "; an origin is written https://drive.example.org, perhaps with a port");
    };
    if (text == "*") return fault("pages of all origins would have the files of their visitors");
    if (text == "null") return fault("it would be that of every page in a sandbox");
    const auto address = net::HttpAddress::parse(in_lower_case(text));
    if (!address) return fault(address.error().message);
    if (!address->prefix.empty() || text.ends_with('/')) return fault("it has a path");
    return address->to_text();
}

}  // namespace holdfast::doors::hengdang
