#pragma once

// The dashboard's page at `/`, and its files under `/ui/`.

#include <string_view>

#include "net/http/http_protocol.h"

namespace holdfast::app {

[[nodiscard]] bool is_dashboard_path(std::string_view path);

// Answers with the file, or 304 to who has it already. The page may run its own scripts, talk to
// its own server, and nothing else. REQUIRES: the path is one of the dashboard's.
void answer_dashboard(const net::HttpRequest& request, net::HttpReply& reply);

}  // namespace holdfast::app
