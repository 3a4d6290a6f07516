#include "app/http/http_gate.h"

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "app/http/backup_handler.h"
#include "app/http/dashboard.h"
#include "app/http/json_error.h"
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

// Whether a web page that is not ours, open in a browser that reaches us, asks for something that
// costs us: a change, or a copy of the database. Only browsers say where a request comes from; a
// page of ours has our address.
bool is_of_another_page(const net::HttpRequest& request) {
    const bool is_look = request.method == "GET" || request.method == "HEAD";
    const bool is_backup = BackupHandler::is_backup_path(request.path);
    if (is_look && !is_backup) return false;  // the page is not shown the answer
    if (is_backup) {
        // A picture or a link in a page has no Origin, but browsers say this of it.
        const auto site = request.header("Sec-Fetch-Site").value_or("none");
        if (site != "none" && site != "same-origin") return true;
    }
    const auto origin = request.header("Origin");
    if (!origin) return false;
    const std::size_t scheme_end = origin->find("://");
    if (scheme_end == std::string_view::npos) return true;  // `null`, for one
    return !boost::algorithm::iequals(origin->substr(scheme_end + 3),
                                      request.header("Host").value_or(""));
}

// The authority in a target of the absolute form, `http://box:8080/lock`; nothing in the usual one.
std::optional<std::string_view> authority_in(std::string_view target) {
    const std::size_t scheme_end = target.find("://");
    if (scheme_end == std::string_view::npos || target.find_first_of("/?") < scheme_end) {
        return std::nullopt;
    }
    target.remove_prefix(scheme_end + 3);
    return target.substr(0, target.find_first_of("/?"));
}

void refuse_name(net::HttpReply& reply, std::string_view name) {
    const std::string sentence =
        "this server is not known as " + std::string(name.substr(0, 300)) +
        ": where there is no token, it is called by an IP address, localhost, the name of its "
        "machine, or a name given with --host-name";
    reply.send(421, "application/json", json_error(sentence));
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

HttpGate::HttpGate(const TokenSource& source, const HostNames& names, net::HttpHandler& handler)
    : source_(source),
      names_(names),
      handler_(handler),
      version_(source.version()),
      tokens_(source.current()) {}

bool HttpGate::is_own_name(std::string_view authority) {
    if (!authority.empty() && authority == last_name_) return true;
    if (!names_.includes(authority)) return false;
    last_name_ = authority;
    return true;
}

void HttpGate::handle(const net::HttpRequest& request, net::HttpReply& reply) {
    if (const auto version = source_.version(); version != version_) {
        version_ = version;
        tokens_ = source_.current();
    }
    if (tokens_->auth.empty()) {
        // A request of HTTP/1.0 may have no Host, but no browser sends one.
        for (const auto& name : {request.header("Host"), authority_in(request.target)}) {
            if (name && !is_own_name(*name)) return refuse_name(reply, *name);
        }
        if (is_of_another_page(request)) return refuse_page(reply);
        if (tokens_->admin.empty()) return handler_.handle(request, reply);
    }

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
