#pragma once

// Writing an answer of the scoped door: the status and the JSON body for a response of the service.
// An error is always `{"error":"<Code>","message":"..."}`, with further fields where they help.

#include <string>
#include <string_view>

#include "doors/scoped/scoped_request.h"
#include "rights/denial.h"
#include "service/ports/clock.h"
#include "service/request.h"

namespace holdfast::doors::scoped {

// Appends the body, which ends in a newline, and returns the HTTP status.
[[nodiscard]] int append_answer(std::string& body, const ScopedRequest& request,
                                const service::Response& response, const service::Clock& clock);

// The answer to an acquire whose client has closed its sending half while it waited.
[[nodiscard]] int append_cancelled(std::string& body, const Acquire& request);

void append_fault(std::string& body, const Fault& fault);

// The client has no right to this: 403.
[[nodiscard]] int append_denial(std::string& body, const rights::Denial& denial);

}  // namespace holdfast::doors::scoped
