#pragma once

// HttpDoor: JSON over HTTP to one server, for the clients that speak it.
//
// Thread safety: none.

#include <chrono>
#include <memory>
#include <string>

#include "base/json/json_value.h"
#include "base/result.h"
#include "net/client/http_client.h"

namespace holdfast::load {

struct JsonAnswer {
    int status = 0;
    base::JsonValue body;
};

// The error for an answer that the protocol does not know.
[[nodiscard]] tl::unexpected<base::Error> unexpected_answer(const JsonAnswer& answer);

class HttpDoor {
  public:
    [[nodiscard]] static base::Result<HttpDoor> open(const std::string& url,
                                                     const std::string& ca_file,
                                                     const std::string& token);

    [[nodiscard]] base::Result<JsonAnswer> ask(const std::string& method, const std::string& target,
                                               const std::string& body = "") const;

  private:
    HttpDoor() = default;

    std::unique_ptr<net::HttpClient> client_;
    std::string token_;  // empty: none is shown
};

}  // namespace holdfast::load
