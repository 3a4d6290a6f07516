#include "net/http/http_message.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/status.hpp>
#include <ctime>

#include "base/text/append_all.h"
#include "base/text/hex.h"

namespace holdfast::net {

namespace {

namespace http = boost::beast::http;

// The Date header. It is formatted at most once per second and thread.
std::string_view date_header() {
    thread_local std::time_t made_at = -1;
    thread_local std::array<char, 64> text;
    thread_local std::size_t bytes = 0;
    const std::time_t now = std::time(nullptr);
    if (now != made_at) {
        std::tm parts{};
        gmtime_r(&now, &parts);
        bytes =
            std::strftime(text.data(), text.size(), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
        made_at = now;
    }
    return {text.data(), bytes};
}

// The first line of a response.
class StatusLine {
  public:
    explicit StatusLine(int status) {
        if (status == 200) return;
        const auto reason =
            http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status)));
        unusual_ = fmt::format(FMT_COMPILE("HTTP/1.1 {} {}\r\n"), status,
                               std::string_view(reason.data(), reason.size()));
    }

    [[nodiscard]] std::string_view view() const {
        return unusual_.empty() ? "HTTP/1.1 200 OK\r\n" : std::string_view(unusual_);
    }

  private:
    std::string unusual_;
};

void append_harmless(std::string& out, std::string_view text) {
    for (const char c : text) {
        const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
        out.push_back(control ? ' ' : c);
    }
}

// The size of the part of an absolute target before its path: `http://` or `https://`, in upper or
// lower case, and the authority; 0 if the target is not absolute.
std::size_t origin_bytes(std::string_view target) {
    if (target.starts_with('/')) return 0;
    for (const std::string_view scheme : {"http://", "https://"}) {
        const auto start = target.substr(0, scheme.size());
        if (!boost::beast::iequals({start.data(), start.size()}, {scheme.data(), scheme.size()})) {
            continue;
        }
        return std::min(target.find_first_of("/?", scheme.size()), target.size());
    }
    return 0;
}

// What follows the scheme, such as `Bearer `, in the header Authorization; empty if another scheme is
// there.
std::string_view credentials(const HttpRequest& request, std::string_view scheme) {
    std::string_view value = request.header("Authorization").value_or("");
    const std::string_view start = value.substr(0, scheme.size());
    if (!boost::beast::iequals({start.data(), start.size()}, {scheme.data(), scheme.size()})) {
        return {};
    }
    value.remove_prefix(scheme.size());
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    return value;
}

// Whether responses of this status end with their header, by definition.
bool has_no_body(int status) {
    return status < 200 || status == 204 || status == 304;
}

// A header line with this value, in two pieces and an end; all of them empty if there is none.
struct HeaderLine {
    HeaderLine(std::string_view its_name, std::string_view its_value)
        : name(its_value.empty() ? std::string_view() : its_name),
          value(its_value),
          end(its_value.empty() ? std::string_view() : "\r\n") {}

    std::string_view name, value, end;
};

std::string_view connection_line(const HttpTerms& terms) {
    if (!terms.keep_alive) return "Connection: close\r\n";
    return terms.http_1_0 ? "Connection: keep-alive\r\n" : "";
}

// Whether the header has the lines that nearly all have, and no others. It is written faster.
bool is_usual(const HttpResponse& response, const HttpTerms& terms) {
    return terms.keep_alive && !terms.http_1_0 && !terms.more_headers && response.headers.empty() &&
           !response.content_type.empty() && !has_no_body(response.status);
}

// Appends the header, with a line that tells where the body ends, and that much of the body.
void append_message(std::string& out, const HttpResponse& response, const HttpTerms& terms,
                    const HeaderLine& size, std::string_view body) {
    const StatusLine status(response.status);
    const HeaderLine type("Content-Type: ", response.content_type);
    const std::string_view more = terms.more_headers ? *terms.more_headers : std::string_view();
    std::string headers;
    for (const auto& header : response.headers) {
        append_harmless(headers, header.name);
        headers.append(": ");
        append_harmless(headers, header.value);
        headers.append("\r\n");
    }
    base::append_all(out, status.view(), date_header(), type.name, type.value, type.end, size.name,
                     size.value, size.end, connection_line(terms), more, headers, "\r\n", body);
}

}  // namespace

std::optional<std::string_view> HttpFields::find(const char* message, std::string_view name) const {
    const char* const begin = message + begin_;
    for (const Places& place : places()) {
        const std::string_view found = place.name.in(begin);
        if (found.size() != name.size() || ((found.front() ^ name.front()) & ~0x20) != 0) continue;
        if (boost::beast::iequals({found.data(), found.size()}, {name.data(), name.size()})) {
            return place.value.in(begin);
        }
    }
    return std::nullopt;
}

TargetParts split_target(std::string_view target) {
    TargetParts parts{.path = target, .query = {}};
    parts.path.remove_prefix(origin_bytes(target));
    if (const auto mark = parts.path.find('?'); mark != parts.path.npos) {
        parts.query = parts.path.substr(mark + 1);
        parts.path = parts.path.substr(0, mark);
    }
    if (parts.path.empty()) parts.path = "/";
    return parts;
}

std::string_view bearer_token(const HttpRequest& request) {
    return credentials(request, "Bearer ");
}

std::optional<std::string> basic_password(const HttpRequest& request) {
    const auto pair = base::decode_base64(credentials(request, "Basic "));
    const std::size_t colon = pair ? pair->find(':') : std::string::npos;
    if (colon == std::string::npos) return std::nullopt;
    return pair->substr(colon + 1);
}

void append_response(std::string& out, const HttpResponse& response, const HttpTerms& terms) {
    const fmt::format_int bytes(response.body.size());
    const std::string_view length(bytes.data(), has_no_body(response.status) ? 0 : bytes.size());
    const std::string_view body =
        has_body(response.status, terms) ? response.body : std::string_view();
    if (!is_usual(response, terms)) {
        append_message(out, response, terms, {"Content-Length: ", length}, body);
        return;
    }
    base::append_all(out, StatusLine(response.status).view(), date_header(),
                     "Content-Type: ", response.content_type, "\r\nContent-Length: ", length,
                     "\r\n\r\n", body);
}

bool has_body(int status, const HttpTerms& terms) {
    return !terms.head && !has_no_body(status);
}

void append_stream_header(std::string& out, const HttpResponse& response, const HttpTerms& terms) {
    const fmt::format_int bytes(response.length.value_or(0));
    const bool may_have_body = !has_no_body(response.status);
    if (may_have_body && response.length) {
        const std::string_view length(bytes.data(), bytes.size());
        append_message(out, response, terms, {"Content-Length: ", length}, "");
    } else {
        const bool is_chunked = may_have_body && !terms.http_1_0;
        append_message(out, response, terms, {"Transfer-Encoding: ", is_chunked ? "chunked" : ""},
                       "");
    }
}

void append_stream_piece(std::string& out, std::string_view piece, const HttpTerms& terms) {
    if (terms.http_1_0 || terms.plain) {
        out.append(piece);
        return;
    }
    fmt::format_to(std::back_inserter(out), FMT_COMPILE("{:x}\r\n"), piece.size());
    out.append(piece).append("\r\n");
}

void append_stream_end(std::string& out, const HttpTerms& terms) {
    if (!terms.http_1_0 && !terms.plain) out.append("0\r\n\r\n");
}

}  // namespace holdfast::net
