#include "app/http/documents.h"

#include <algorithm>
#include <cctype>

#include "net/client/url.h"
#include "web/assets.h"

namespace holdfast::app {

namespace {

// The page may run its own scripts, talk to its own server and its file door, and nothing else.
constexpr std::string_view policy_begin =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'";
constexpr std::string_view policy_end =
    "; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// The host in a Host header, without its port; empty if a policy cannot name it.
std::string_view host_in(std::string_view authority) {
    const std::string_view host = net::host_of(authority);
    const bool is_plain = std::all_of(host.begin(), host.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("-._:[]").find(static_cast<char>(c)) != std::string_view::npos;
    });
    return is_plain ? host : std::string_view();
}

std::string content_security_policy(const net::HttpRequest& request, const FilesPlace& files) {
    std::string policy(policy_begin);
    for (const std::string& url : files.urls) policy += " " + url;
    const std::string_view host = host_in(request.header("Host").value_or(""));
    if (files.port != 0 && !host.empty()) {
        policy.append(files.has_tls ? " https://" : " http://").append(host);
        policy.append(":").append(std::to_string(files.port));
    }
    return policy.append(policy_end);
}

enum class DocumentAction : std::uint8_t { show_dashboard, show_openapi };

using net::Privilege;
using Body = net::BodyPolicy;

// The dashboard's files are the same for everybody and contain no secret. What the page then asks
// for needs a token.
constexpr net::Route document_routes[] = {
    {"GET, HEAD", "/", Privilege::none, Body::ignored, "", DocumentAction::show_dashboard},
    {"GET, HEAD", "/ui/{file...}", Privilege::none, Body::ignored, "",
     DocumentAction::show_dashboard},
    {"GET, HEAD", "/openapi.json", Privilege::read, Body::ignored, "openapi",
     DocumentAction::show_openapi, net::Reach::anything},
};

}  // namespace

// Sends the file, or 304 to a browser that has it already.
void DocumentHandler::show_dashboard(const net::HttpRequest& request, net::HttpReply& reply) const {
    const web::Asset* const asset = web::find_asset(request.path);
    if (asset == nullptr) return reply.send(404, json_type, json_error("no such file"));
    const bool is_known = request.header("If-None-Match") == asset->tag;
    // A new server brings new files. So browsers may store them, but ask before each use.
    reply.send(is_known ? 304 : 200, is_known ? "" : asset->content_type,
               is_known ? "" : asset->bytes,
               {{"ETag", asset->tag},
                {"Cache-Control", "no-cache"},
                {"Content-Security-Policy", content_security_policy(request, find_files_())},
                {"X-Content-Type-Options", "nosniff"},
                {"Referrer-Policy", "no-referrer"}});
}

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
