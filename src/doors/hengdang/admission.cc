#include "doors/hengdang/admission.h"

#include <utility>

#include "doors/hengdang/http/request_parts.h"

namespace holdfast::doors::hengdang {

namespace {

Parsed<Visitor> find_visitor(HengdangDoor& door, const net::HttpRequest& request) {
    const std::string_view bearer = net::bearer_token(request);
    const std::string_view cookie = cookie_of(request, session_cookie);
    if (bearer.empty() && cookie.empty()) return tl::unexpected(refuse(NoSession::none_shown));
    if (auto session = door.sessions().find(bearer, door.wall_now())) {
        return Visitor{.session = std::move(*session), .shown_id = std::string(bearer)};
    }
    // Some apps send what they know of their session beside the cookie, which counts then.
    if (auto session = door.sessions().find(cookie, door.wall_now())) {
        return Visitor{.session = std::move(*session)};
    }
    return tl::unexpected(refuse(NoSession::unknown));
}

}  // namespace

Parsed<Visitor> admit(HengdangDoor& door, const net::HttpRequest& request, Deed deed) {
    TRY(auto visitor, find_visitor(door, request));
    if (deed == Deed::look) return visitor;
    if (visitor.shown_id.empty() && !door.parts().origins.may_change_by_cookie(request)) {
        return tl::unexpected(refuse_origin());
    }
    if (deed == Deed::change && visitor.session.permission == files::Permission::read) {
        return tl::unexpected(refuse_permission(visitor.session.permission));
    }
    return visitor;
}

FileAnswer refuse_origin() {
    return refuse(403, "Origin not allowed",
                  "A cookie may change something only for pages of an origin that the operator has "
                  "allowed (--files-origin); a program sends Authorization: Bearer <sessionId>");
}

}  // namespace holdfast::doors::hengdang
