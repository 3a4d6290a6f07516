#include "app/http/http_gate.h"

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "app/http/json_replies.h"
#include "base/crypto.h"

namespace holdfast::app {

namespace {

// What the client may do to everything.
net::Privilege privilege_of(const rights::Token& client) {
    switch (client.everywhere(rights::Door::http)) {
        case rights::Right::none: break;
        case rights::Right::read: return net::Privilege::read;
        case rights::Right::lock: return net::Privilege::lock;
        case rights::Right::admin: return net::Privilege::administer;
    }
    return net::Privilege::none;
}

// Whether a web page that is not ours, open in a browser that reaches us, asks for something that
// it must not have: a change, or what only administrators get. Only browsers say where a request
// comes from; a page of ours has our address.
bool is_of_another_page(const net::HttpRequest& request, const net::Route* route) {
    const bool is_look = request.method == "GET" || request.method == "HEAD";
    const bool is_for_admins = route != nullptr && route->needs == net::Privilege::administer;
    if (is_look && !is_for_admins) return false;  // the browser does not show the page the answer
    if (is_look) {
        // A picture or a link in a page has no Origin, but browsers send this header with it.
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
    if (target.starts_with('/')) return std::nullopt;
    const std::size_t scheme_end = target.find("://");
    if (scheme_end == std::string_view::npos || target.find_first_of("/?") < scheme_end) {
        return std::nullopt;
    }
    target.remove_prefix(scheme_end + 3);
    return target.substr(0, target.find_first_of("/?"));
}

void refuse_name(net::HttpReply& reply, std::string_view name) {
    const std::string sentence = "this server is not known as " + std::string(name.substr(0, 300)) +
                                 ". Without a token, a request must name the server by an IP "
                                 "address, localhost, the name of "
                                 "its machine, or a name given with --host-name";
    reply.send(421, "application/json", json_error(sentence));
}

void refuse_page(net::HttpReply& reply) {
    reply.send(
        403, "application/json",
        "{\"error\":\"this request comes from another web page. Unless the request has a Bearer "
        "token, only pages of this server may make it\"}\n");
}

void refuse(net::HttpReply& reply, bool has_token) {
    const std::string_view body =
        has_token ? "{\"error\":\"the token is not the right one\"}\n"
                  : "{\"error\":\"a token is needed: Authorization: Bearer <token>, or Basic with "
                    "the token as the password\"}\n";
    reply.send(401, "application/json", body, {{"WWW-Authenticate", "Bearer realm=\"holdfast\""}});
}

}  // namespace

HttpGate::HttpGate(const TokenSource& source, const HostNames& names)
    : source_(source), names_(names), version_(source.version()), tokens_(source.current()) {}

bool HttpGate::is_own_name(std::string_view authority) {
    if (!authority.empty() && authority == last_name_) return true;
    if (!names_.includes(authority)) return false;
    last_name_ = authority;
    return true;
}

// Answers a request that comes from a web page of somebody else. Returns whether it did.
bool HttpGate::refuses_stranger(const net::HttpRequest& request, const net::Route* route,
                                net::HttpReply& reply) {
    // A request of HTTP/1.0 may have no Host, but no browser sends one.
    for (const auto& name : {request.header("Host"), authority_in(request.target)}) {
        if (name && !is_own_name(*name)) return refuse_name(reply, *name), true;
    }
    if (is_of_another_page(request, route)) return refuse_page(reply), true;
    return false;
}

// The token with this secret; null if there is none.
const rights::Token* HttpGate::find(std::string_view shown) {
    const bool is_last = last_client_ && base::equal_in_constant_time(last_secret_, shown);
    if (is_last) return last_client_.get();
    auto found = tokens_->find(shown);
    if (!found) return nullptr;
    last_secret_ = shown;
    last_client_ = std::move(found);
    return last_client_.get();
}

std::optional<HttpGate::Admission> HttpGate::admit(const net::HttpRequest& request,
                                                   const net::Route* route, net::HttpReply& reply) {
    using net::Privilege;
    if (const auto version = source_.version(); version != version_) {
        version_ = version;
        tokens_ = source_.current();
        last_client_ = nullptr;
    }
    if (tokens_->is_open()) {
        if (refuses_stranger(request, route, reply)) return std::nullopt;
        if (tokens_->is_empty()) return Admission{Privilege::administer, nullptr};
    }
    std::string_view shown = net::bearer_token(request);
    const auto password = shown.empty() ? net::basic_password(request) : std::nullopt;
    if (password) {
        if (is_of_another_page(request, route)) return refuse_page(reply), std::nullopt;
        shown = *password;
    }
    const bool is_free = route != nullptr && route->needs == Privilege::none;
    const rights::Token* client = find(shown);
    if (client == nullptr && !shown.empty() && !is_free) {
        tokens_->wrong_secrets().add(rights::Door::http, request.client_host());
    }
    if (client == nullptr && tokens_->is_open()) client = tokens_->anonymous().get();
    if (client != nullptr) return Admission{privilege_of(*client), client};
    if (is_free) return Admission{};
    refuse(reply, !shown.empty());
    return std::nullopt;
}

}  // namespace holdfast::app
