#pragma once

#include <string>
#include <string_view>

#include "base/json/json_writer.h"

namespace holdfast::app {

// The body of an answer that names a fault: `{"error":"..."}` and a newline.
[[nodiscard]] inline std::string json_error(std::string_view sentence) {
    std::string body;
    base::JsonWriter(body).begin_object().field("error", sentence).end_object();
    return body + "\n";
}

}  // namespace holdfast::app
