#pragma once

// What `GET /v1/status` says: the server about itself, for the dashboard.

#include <chrono>
#include <string>

#include "app/http/metrics_text.h"
#include "app/serve_options.h"

namespace holdfast::app {

struct Status {
    const Figures& figures;
    const ServeOptions& options;
    std::chrono::milliseconds now{0};  // since 1970
    std::chrono::milliseconds uptime{0};
    bool is_privileged = false;  // whether the asker may end other people's leases
};

// A JSON object and a newline. Of secrets it says whether there are any.
[[nodiscard]] std::string status_json(const Status& status);

}  // namespace holdfast::app
