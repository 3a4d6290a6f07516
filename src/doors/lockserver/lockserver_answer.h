#pragma once

// Writing a LockServer answer: the status and the JSON body for a response of the service.

#include <string>
#include <string_view>

#include "doors/lockserver/lockserver_request.h"
#include "service/ports/clock.h"
#include "service/request.h"

namespace holdfast::doors::lockserver {

// Appends the body, which ends in a newline, and returns the HTTP status.
// REQUIRES: the request is not WatchEvents.
[[nodiscard]] int append_answer(std::string& body, const LockserverRequest& request,
                                const service::Response& response, const service::Clock& clock);

// The answer to an acquire whose client has closed its sending half while it waited.
[[nodiscard]] int append_cancelled(std::string& body, const Acquire& request);

void append_error(std::string& body, std::string_view error);

}  // namespace holdfast::doors::lockserver
