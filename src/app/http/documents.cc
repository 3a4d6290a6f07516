#include "app/http/documents.h"

#include "web/assets.h"

namespace holdfast::app {

namespace {

// The page may run its own scripts, talk to its own server, and nothing else.
constexpr std::string_view content_security_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

enum class DocumentAction : std::uint8_t { show_dashboard, show_openapi };

using net::Privilege;
using Body = net::BodyPolicy;

// The dashboard's files are the same for everybody and contain no secret. What the page then asks
// for needs a token.
constexpr net::Route document_routes[] = {
    {"GET, HEAD", "/", Privilege::none, Body::ignored, "", DocumentAction::show_dashboard},
    {"GET, HEAD", "/ui/{file...}", Privilege::none, Body::ignored, "",
     DocumentAction::show_dashboard},
    {"GET, HEAD", "/openapi.json", Privilege::lock, Body::ignored, "openapi",
     DocumentAction::show_openapi},
};

// Sends the file, or 304 to a browser that has it already.
void show_dashboard(const net::HttpRequest& request, net::HttpReply& reply) {
    const web::Asset* const asset = web::find_asset(request.path);
    if (asset == nullptr) return reply.send(404, json_type, json_error("no such file"));
    const bool is_known = request.header("If-None-Match") == asset->tag;
    // A new server brings new files. So browsers may store them, but ask before each use.
    reply.send(is_known ? 304 : 200, is_known ? "" : asset->content_type,
               is_known ? "" : asset->bytes,
               {{"ETag", asset->tag},
                {"Cache-Control", "no-cache"},
                {"Content-Security-Policy", content_security_policy},
                {"X-Content-Type-Options", "nosniff"},
                {"Referrer-Policy", "no-referrer"}});
}

}  // namespace

std::span<const net::Route> DocumentHandler::routes() {
    return document_routes;
}

void DocumentHandler::handle(const net::RoutedRequest& request, net::HttpReply& reply) {
    if (request.route.action.as<DocumentAction>() == DocumentAction::show_dashboard) {
        return show_dashboard(request.http, reply);
    }
    reply.send(200, json_type, openapi_json());
}

}  // namespace holdfast::app
