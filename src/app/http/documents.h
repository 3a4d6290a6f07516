#pragma once

// DocumentHandler: the files that are built into the program.
//
//     GET /               the dashboard's page
//     GET /ui/{file...}   its scripts and styles
//     GET /openapi.json   the HTTP surface of the server, for machines and for people
//
// Thread safety: every method from any thread.

#include <span>
#include <string_view>

#include "app/http/json_replies.h"

namespace holdfast::app {

// The OpenAPI document, as it stands in openapi.json.
[[nodiscard]] std::string_view openapi_json();

class DocumentHandler final : public JsonHandler {
  public:
    [[nodiscard]] static std::span<const net::Route> routes();

    void handle(const net::RoutedRequest& request, net::HttpReply& reply) override;
};

}  // namespace holdfast::app
