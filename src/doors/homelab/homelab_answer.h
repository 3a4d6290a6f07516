#pragma once

// Writing a homelab answer: the status and the JSON body for a response of the service.

#include <string>
#include <string_view>

#include "doors/homelab/homelab_request.h"
#include "service/ports/clock.h"
#include "service/request.h"

namespace holdfast::doors::homelab {

// Appends the body, which ends in a newline, and returns the HTTP status.
[[nodiscard]] int append_answer(std::string& body, const HomelabRequest& request,
                                const service::Response& response, const service::Clock& clock);

// Why a request is malformed.
struct HomelabFault {
    std::string_view job;
    std::string_view error;
};
void append_fault(std::string& body, const HomelabFault& fault);

}  // namespace holdfast::doors::homelab
