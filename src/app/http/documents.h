#pragma once

// DocumentHandler: the files that are built into the program.
//
//     GET /               the dashboard's page
//     GET /ui/{file...}   its scripts and styles
//     GET /openapi.json   the HTTP surface of the server, for machines and for people
//
// Thread safety: every method from any thread.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/http/json_replies.h"

namespace holdfast::app {

// The OpenAPI document, as it stands in openapi.json.
[[nodiscard]] std::string_view openapi_json();

// Where browsers find the file door. The dashboard's page may talk to it as well as to its own
// server.
struct FilesPlace {
    std::vector<std::string> urls;  // that the operator has named
    bool has_tls = false;
    std::uint16_t port = 0;  // at the host by which the browser knows this server; 0: there is none
};

class DocumentHandler final : public JsonHandler {
  public:
    // `find_files` may be called from any thread.
    explicit DocumentHandler(std::function<FilesPlace()> find_files)
        : find_files_(std::move(find_files)) {}

    [[nodiscard]] static std::span<const net::Route> routes();

    void handle(const net::RoutedRequest& request, net::HttpReply& reply) override;

  private:
    void show_dashboard(const net::HttpRequest& request, net::HttpReply& reply) const;

    const std::function<FilesPlace()> find_files_;
};

}  // namespace holdfast::app
