#pragma once

// Writing a homelab answer: the status and the JSON body for what the service said.

#include <string>
#include <string_view>

#include "dialects/homelab/homelab_request.h"
#include "service/clock.h"
#include "service/request.h"

namespace holdfast::dialects::homelab {

// Appends the body, which ends in a newline, and returns the HTTP status.
[[nodiscard]] int append_answer(std::string& body, const HomelabRequest& request,
                                const service::Response& response, const service::Clock& clock);

// The body of a request that could not be read.
void append_fault(std::string& body, std::string_view job, std::string_view error);

}  // namespace holdfast::dialects::homelab
