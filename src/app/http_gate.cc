#include "app/http_gate.h"

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <string_view>

#include "app/dashboard.h"
#include "base/secret.h"

namespace holdfast::app {

namespace {

// The token that a request bears; empty if there is none.
std::string_view bearer_token(const net::HttpRequest& request) {
    const std::string_view scheme = "Bearer ";
    std::string_view value = request.header("Authorization").value_or("");
    if (!boost::algorithm::istarts_with(value, scheme)) return {};
    value.remove_prefix(scheme.size());
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    return value;
}

bool is_same(std::string_view secret, std::string_view shown) {
    return !secret.empty() && base::equal_in_constant_time(secret, shown);
}

// Whether the server lives is for a supervisor to ask, which need not know secrets. The dashboard's
// files are the same for everybody and show nothing; what it then asks for needs a token.
bool is_for_everybody(const net::HttpRequest& request) {
    const bool reads = request.method == "GET" || request.method == "HEAD";
    return reads && (request.path == "/healthz" || request.path == "/readyz" ||
                     is_dashboard_path(request.path));
}

// Whether somebody else's web page, open in a browser that reaches us, asks for a change. Browsers
// say so, and only they; a page of ours has our address.
bool is_of_another_page(const net::HttpRequest& request) {
    const auto origin = request.header("Origin");
    if (!origin || request.method == "GET" || request.method == "HEAD") return false;
    const std::size_t scheme_end = origin->find("://");
    if (scheme_end == std::string_view::npos) return true;  // `null`, for one
    return !boost::algorithm::iequals(origin->substr(scheme_end + 3),
                                      request.header("Host").value_or(""));
}

void refuse_page(net::HttpReply& reply) {
    reply.send(
        403, "application/json",
        "{\"error\":\"another web page asks for this; where there is no token, only pages of "
        "this server may\"}\n");
}

void refuse(net::HttpReply& reply, bool has_token) {
    const std::string_view body =
        has_token ? "{\"error\":\"the token is not the right one\"}\n"
                  : "{\"error\":\"a token is needed: Authorization: Bearer <token>\"}\n";
    reply.send(401, "application/json", body, {{"WWW-Authenticate", "Bearer realm=\"holdfast\""}});
}

}  // namespace

HttpGate::HttpGate(const TokenSource& source, net::HttpHandler& handler)
    : source_(source), handler_(handler), version_(source.version()), tokens_(source.current()) {}

void HttpGate::handle(const net::HttpRequest& request, net::HttpReply& reply) {
    if (const auto version = source_.version(); version != version_) {
        version_ = version;
        tokens_ = source_.current();
    }
    if (tokens_->auth.empty() && is_of_another_page(request)) return refuse_page(reply);
    if (tokens_->auth.empty() && tokens_->admin.empty()) return handler_.handle(request, reply);

    const std::string_view shown = bearer_token(request);
    const bool is_user = is_same(tokens_->auth, shown);
    const bool is_admin = is_same(tokens_->admin, shown);
    const bool may_pass = tokens_->auth.empty() || is_user || is_admin || is_for_everybody(request);
    if (!may_pass) return refuse(reply, !shown.empty());
    net::HttpRequest known = request;
    known.is_privileged = is_admin;
    handler_.handle(known, reply);
}

}  // namespace holdfast::app
