#include "net/http/http_message.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/status.hpp>
#include <ctime>

#include "base/text/base64.h"

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

void append_number(std::string& out, std::size_t number) {
    const fmt::format_int text(number);
    out.append(text.data(), text.size());
}

void append_status_line(std::string& out, int status) {
    if (status == 200) {
        out.append("HTTP/1.1 200 OK\r\n");
        return;
    }
    const auto reason = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status)));
    out.append("HTTP/1.1 ");
    append_number(out, static_cast<std::size_t>(status));
    out.append(" ").append(reason.data(), reason.size()).append("\r\n");
}

void append_harmless(std::string& out, std::string_view text) {
    for (const char c : text) {
        const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
        out.push_back(control ? ' ' : c);
    }
}

// The size of the part of an absolute target before its path: `http://` or `https://`, in upper or
// lower case, and the authority; 0 if the target is not absolute.
std::size_t origin_bytes(std::string_view target) {
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

void append_first_headers(std::string& out, const HttpResponse& response) {
    append_status_line(out, response.status);
    out.append(date_header());
    if (!response.content_type.empty()) {
        out.append("Content-Type: ").append(response.content_type).append("\r\n");
    }
}

void append_last_headers(std::string& out, const HttpResponse& response, const HttpTerms& terms) {
    if (!terms.keep_alive) {
        out.append("Connection: close\r\n");
    } else if (terms.http_1_0) {
        out.append("Connection: keep-alive\r\n");
    }
    if (terms.more_headers) out.append(*terms.more_headers);
    for (const auto& header : response.headers) {
        append_harmless(out, header.name);
        out.append(": ");
        append_harmless(out, header.value);
        out.append("\r\n");
    }
    out.append("\r\n");
}

}  // namespace

bool HttpFields::add(const char* message, HttpHeader field) {
    if (count_ == count_max) return false;
    const auto at = [message](std::string_view part) {
        return static_cast<std::uint16_t>(part.data() - message);
    };
    places_[count_++] = {at(field.name), static_cast<std::uint16_t>(field.name.size()),
                         at(field.value), static_cast<std::uint16_t>(field.value.size())};
    return true;
}

std::optional<std::string_view> HttpFields::find(const char* message, std::string_view name) const {
    for (const auto& place : std::span(places_).first(count_)) {
        const std::string_view found(message + place.name_at, place.name_bytes);
        if (boost::beast::iequals({found.data(), found.size()}, {name.data(), name.size()})) {
            return std::string_view(message + place.value_at, place.value_bytes);
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
    append_first_headers(out, response);
    if (!has_no_body(response.status)) {
        out.append("Content-Length: ");
        append_number(out, response.body.size());
        out.append("\r\n");
    }
    append_last_headers(out, response, terms);
    if (has_body(response.status, terms)) out.append(response.body);
}

bool has_body(int status, const HttpTerms& terms) {
    return !terms.head && !has_no_body(status);
}

void append_stream_header(std::string& out, const HttpResponse& response, const HttpTerms& terms) {
    append_first_headers(out, response);
    if (response.length && !has_no_body(response.status)) {
        out.append("Content-Length: ");
        append_number(out, *response.length);
        out.append("\r\n");
    } else if (!terms.http_1_0 && !has_no_body(response.status)) {
        out.append("Transfer-Encoding: chunked\r\n");
    }
    append_last_headers(out, response, terms);
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
