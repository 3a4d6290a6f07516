#include "doors/hengdang/admission.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/text/hex.h"
#include "doors/hengdang/http/request_parts.h"
#include "rights/asker.h"

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

// The owner of a session that began with a token: the token's name and the beginning of its hash follow,
// so that the session ends when the secret changes.
constexpr std::string_view token_owner_prefix = "token:";
constexpr std::size_t shown_digest_bytes = 4;
// Earlier versions did not note with which secret of --auth-token-file a session began. So these sessions
// are over.
constexpr std::string_view former_owner = "secret";

// The token that a session began with; null if it began otherwise, and so has no limits. Refuses a session
// whose token is no longer in force.
Parsed<rights::TokenPtr> find_client(HengdangDoor& door, const files::Session& session) {
    const std::string_view owner = session.owner;
    const bool is_of_token = owner.starts_with(token_owner_prefix);
    if (!is_of_token && owner != former_owner) return nullptr;
    if (!is_of_token) return tl::unexpected(refuse(NoSession::unknown));
    std::string_view name = owner.substr(token_owner_prefix.size());
    name = name.substr(0, name.find('#'));
    auto token = door.parts().tokens.current()->find_if([&](const rights::Token& each) {
        return each.name() == name && session_owner_of(each) == owner;
    });
    if (!token) return tl::unexpected(refuse(NoSession::unknown));
    return token;
}

}  // namespace

std::optional<rights::Denial> deny_path(const rights::Token* client, Deed deed,
                                        const files::FilePath& path) {
    constexpr rights::Door door = rights::Door::files;
    using rights::Right;
    const Right right = deed == Deed::look ? Right::read : Right::lock;
    if (right == Right::read && is_on_the_way(client, path)) return std::nullopt;
    return rights::deny(client, {right, door, core::Scope::path(path.text())});
}

std::string session_owner_of(const rights::Token& token) {
    return std::string(token_owner_prefix) + token.name() + '#' +
           base::to_hex(std::span(token.digest()).first(shown_digest_bytes));
}

FileAnswer refuse(const rights::Denial& denial) {
    FileAnswer answer = refuse(403, "Insufficient permissions", denial.sentence);
    rights::add_to_json(answer.body, denial);
    return answer;
}

bool is_on_the_way(const rights::Token* client, const files::FilePath& path) {
    return client != nullptr && client->may_below(rights::Right::read, rights::Door::files,
                                                  path.is_root() ? path.text() : path.text() + '/');
}

Parsed<Visitor> admit(HengdangDoor& door, const net::HttpRequest& request, Deed deed,
                      const files::FilePath* path) {
    TRY(auto visitor, find_visitor(door, request));
    TRY(visitor.client, find_client(door, visitor.session));
    rights::set_asker(visitor.by, visitor.client.get(), rights::Door::files, request.client_host());
    if (path != nullptr) {
        if (const auto denial = deny_path(visitor.client.get(), deed, *path)) {
            return tl::unexpected(refuse(*denial));
        }
    }
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
