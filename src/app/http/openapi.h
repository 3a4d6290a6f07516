#pragma once

// `/openapi.json`: the server's whole HTTP surface, described for machines and for people.

#include <string_view>

#include "net/http/http_protocol.h"

namespace holdfast::app {

// The document, as it stands in openapi.json; built into the program.
[[nodiscard]] std::string_view openapi_json();

// Answers a request for it.
void answer_openapi(const net::HttpRequest& request, net::HttpReply& reply);

}  // namespace holdfast::app
