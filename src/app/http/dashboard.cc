#include "app/http/dashboard.h"

#include "web/assets.h"

namespace holdfast::app {

namespace {

constexpr std::string_view content_security_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

}  // namespace

bool is_dashboard_path(std::string_view path) {
    return path == "/" || path.starts_with("/ui/");
}

void answer_dashboard(const net::HttpRequest& request, net::HttpReply& reply) {
    if (request.method != "GET" && request.method != "HEAD") {
        return reply.send(405, "application/json", "{\"error\":\"method not allowed\"}\n",
                          {{"Allow", "GET, HEAD"}});
    }
    const web::Asset* const asset = web::find_asset(request.path);
    if (asset == nullptr) {
        return reply.send(404, "application/json", "{\"error\":\"no such file\"}\n");
    }
    const bool is_known = request.header("If-None-Match") == asset->tag;
    // A new server brings new files: browsers keep them, and ask every time whether they hold.
    reply.send(is_known ? 304 : 200, is_known ? "" : asset->content_type,
               is_known ? "" : asset->bytes,
               {{"ETag", asset->tag},
                {"Cache-Control", "no-cache"},
                {"Content-Security-Policy", content_security_policy},
                {"X-Content-Type-Options", "nosniff"},
                {"Referrer-Policy", "no-referrer"}});
}

}  // namespace holdfast::app
