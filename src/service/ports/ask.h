#pragma once

#include <functional>
#include <utility>

#include "service/ports/port.h"

namespace holdfast::service {

// Asks the service and calls `then` with the response: at once, or when the service has responded. If
// the service never does, because it ends, `then` is destroyed uncalled. On the thread of the port.
inline void ask(Port& port, const Request& request, std::function<void(const Response&)> then) {
    if (const Response* const response = port.submit(request)) return then(*response);
    port.await(answer_by(std::move(then)));
}

}  // namespace holdfast::service
