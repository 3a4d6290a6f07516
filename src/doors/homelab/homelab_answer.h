#pragma once

// Writing a homelab answer: the status and the JSON body for what the service said.

#include <string>
#include <string_view>

#include "doors/homelab/homelab_request.h"
#include "service/ports/clock.h"
#include "service/request.h"

namespace holdfast::doors::homelab {

// Appends the body, which ends in a newline, and returns the HTTP status.
[[nodiscard]] int append_answer(std::string& body, const HomelabRequest& request,
                                const service::Response& response, const service::Clock& clock);

// Why a request could not be read.
struct HomelabFault {
    std::string_view job;
    std::string_view error;
};
void append_fault(std::string& body, const HomelabFault& fault);

}  // namespace holdfast::doors::homelab
