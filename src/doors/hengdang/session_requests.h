#pragma once

// Logging in and out: `/auth/session`, `/auth/sessions` and `/auth/sessions/<name>`.

#include <string_view>

#include "doors/hengdang/exchange.h"
#include "net/http/http_message.h"

namespace holdfast::doors::hengdang {

[[nodiscard]] bool is_session_path(std::string_view path);

// REQUIRES: the path is one of sessions.
void handle_session_request(const HengdangContext& context, std::string_view path,
                            const net::HttpRequest& request, net::HttpReply& reply);

}  // namespace holdfast::doors::hengdang
