#pragma once

// HttpFault: why a request is refused by the server itself; and all faults that a parser finds.

#include <string_view>

namespace holdfast::net {

// The connection closes after the answer.
struct HttpFault {
    int status;
    std::string_view json;  // the whole body, fixed text
};

namespace faults {

#define HOLDFAST_FAULT(reason) \
    "{\"error\":\"" reason "\",\"message\":\"The request cannot be read: " reason "\"}\n"
inline constexpr HttpFault malformed{400, HOLDFAST_FAULT("malformed HTTP request")};
inline constexpr HttpFault folded{400, HOLDFAST_FAULT("header field folded over several lines")};
inline constexpr HttpFault chunked_1_0{400,
                                       HOLDFAST_FAULT("Transfer-Encoding in an HTTP/1.0 request")};
inline constexpr HttpFault bad_length{400, HOLDFAST_FAULT("bad or conflicting Content-Length")};
inline constexpr HttpFault no_host{400, HOLDFAST_FAULT("an HTTP/1.1 request needs a Host")};
inline constexpr HttpFault several_hosts{400, HOLDFAST_FAULT("more than one Host")};
inline constexpr HttpFault bad_chunk{400, HOLDFAST_FAULT("malformed chunked body")};
inline constexpr HttpFault body_too_big{413, HOLDFAST_FAULT("request body too large")};
inline constexpr HttpFault target_too_long{414, HOLDFAST_FAULT("request target too long")};
inline constexpr HttpFault unknown_expectation{
    417, HOLDFAST_FAULT("only Expect: 100-continue is known")};
inline constexpr HttpFault header_too_big{431, HOLDFAST_FAULT("request header too large")};
inline constexpr HttpFault unknown_coding{
    501, HOLDFAST_FAULT("only Transfer-Encoding: chunked is known")};
inline constexpr HttpFault not_http_1{505, HOLDFAST_FAULT("only HTTP/1.0 and HTTP/1.1 are spoken")};
#undef HOLDFAST_FAULT

}  // namespace faults

}  // namespace holdfast::net
