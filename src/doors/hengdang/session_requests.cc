#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json/json.h"
#include "doors/hengdang/admission.h"
#include "doors/hengdang/http/request_parts.h"
#include "doors/hengdang/requests.h"
#include "files/login/nostr_event.h"

namespace holdfast::doors::hengdang {

namespace {

constexpr std::string_view own_path = "/auth/session", list_path = "/auth/sessions";
// As the original calls an app whose login does not name it.
constexpr std::string_view unknown_app = "Unknown App";

// The header that gives a browser its session, or takes it away. A browser sends the cookie with
// requests of its own site only, unless the page that logs in is of another one; that needs TLS. The
// cookie for another site is partitioned: browsers that block cookies of third parties keep it, for
// pages below that site alone.
class CookieForm {
  public:
    CookieForm(const HengdangDoor& door, const net::HttpRequest& request)
        : is_for_others_(door.parts().origins.find(request) == OriginKind::named &&
                         door.is_reached_by_tls()),
          is_secure_(door.parts().has_tls || is_for_others_) {}

    [[nodiscard]] std::pair<std::string, std::string> header(std::string_view id,
                                                             std::chrono::seconds age) const {
        std::string text(session_cookie);
        text.append("=").append(id).append("; Path=/; HttpOnly; SameSite=");
        text.append(is_for_others_ ? "None" : "Strict");
        text.append("; Max-Age=").append(std::to_string(age.count()));
        if (is_secure_) text += "; Secure";
        if (is_for_others_) text += "; Partitioned";
        return {"Set-Cookie", std::move(text)};
    }

  private:
    bool is_for_others_;
    bool is_secure_;
};

// What is told about a session wherever it is told about, without the braces.
std::string fields_of(const files::Session& session) {
    std::string fields = "\"permissions\":" + std::string(to_json(session.permission)) +
                         ",\"expiresAt\":" + std::to_string(session.expires_ms) +
                         ",\"createdAt\":" + std::to_string(session.created_ms) +
                         ",\"lastUsed\":" + std::to_string(session.last_used_ms) + ",\"name\":\"" +
                         session.name + "\",\"owner\":";
    base::append_json_string(fields, session.owner);
    fields += ",\"appName\":";
    base::append_json_string(fields, session.app_name.empty() ? unknown_app : session.app_name);
    return fields;
}

FileAnswer answer_in_private(int status, std::string body) {
    return {.status = status,
            .body = std::move(body.append("\n")),
            .headers = {{"Cache-Control", "no-store"}}};
}

FileAnswer tell_session(int status, std::string_view id, const files::Session& session) {
    return answer_in_private(
        status, "{\"sessionId\":\"" + std::string(id) + "\"," + fields_of(session) + "}");
}

// 201 with the id, which is told only here, and the cookie.
FileAnswer tell_new_session(const files::SessionBook::NewSession& made, const CookieForm& cookie) {
    FileAnswer answer = tell_session(201, made.id, made.session);
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(files::session_time);
    answer.headers.push_back(cookie.header(made.id, age));
    return answer;
}

// Tells the id only to a client that has just sent it. Otherwise the name stands in its place, as in
// the answers about locks: scripts cannot read the cookie, and must not learn the id from here.
FileAnswer tell_own_session(const Visitor& visitor) {
    const bool has_shown_id = !visitor.shown_id.empty();
    return tell_session(200, has_shown_id ? visitor.shown_id : visitor.session.name,
                        visitor.session);
}

// Whether a client may know of the session. One with limits knows of those that its own token began.
bool may_see(const Visitor& visitor, const files::Session& session) {
    const rights::Token* const client = visitor.client.get();
    return client == nullptr || client->everywhere(rights::Door::files) >= rights::Right::read ||
           session.owner == visitor.session.owner;
}

FileAnswer tell_sessions(const std::vector<files::Session>& sessions, const Visitor& visitor) {
    const std::string& own_name = visitor.session.name;
    std::string list;
    for (const files::Session& session : sessions) {
        if (!may_see(visitor, session)) continue;
        list += (list.empty() ? "{" : ",{") + fields_of(session);
        list += session.name == own_name ? ",\"current\":true}" : ",\"current\":false}";
    }
    return answer_in_private(200, "{\"sessions\":[" + list + "]}");
}

// 204, also if the session was over before: a client that logs out twice has what it wants. The
// session's own cookie is replaced by an empty one.
FileAnswer tell_session_ended(const std::optional<CookieForm>& own_cookie) {
    FileAnswer answer{.status = 204, .content_type = ""};
    if (own_cookie) answer.headers.push_back(own_cookie->header("", std::chrono::seconds::zero()));
    return answer;
}

int status_of(files::NostrFault fault) {
    switch (fault) {
        case files::NostrFault::invalid_event:
        case files::NostrFault::invalid_auth_event: return 400;
        case files::NostrFault::invalid_signature: return 401;
        case files::NostrFault::unauthorized: return 403;
    }
    return 400;
}

FileAnswer begin_session(HengdangDoor& door, const files::NewLogin& login,
                         const CookieForm& cookie) {
    const auto session = door.begin_session(login);
    if (!session) return refuse(503, "No session", session.error().message);
    return tell_new_session(*session, cookie);
}

// The request that the event of a login must be signed for.
struct LoginRequest {
    std::string method;
    std::string target;
    std::string event;  // the body
    CookieForm cookie;
};

FileAnswer refuse_login(const files::NostrRefusal& why) {
    return refuse(status_of(why.fault), files::to_text(why.fault), why.message);
}

FileAnswer log_in_by_event(HengdangDoor& door, const LoginRequest& request) {
    const std::vector<std::string> urls = door.own_urls().of(request.target);
    const auto event =
        files::verify_nostr_event(request.event, {.urls = urls,
                                                  .method = request.method,
                                                  .owner_keys = door.options().owner_keys,
                                                  .now = door.wall_now()});
    if (!event) return refuse_login(event.error());
    const auto permission = files::permission_of(*event);
    if (!permission) return refuse_login(permission.error());
    const auto is_fresh = door.used_events().use(*event, door.wall_now());
    if (!is_fresh) return refuse(503, "No session", is_fresh.error().message);
    if (!*is_fresh) {
        return refuse(400, "Invalid auth event", "The event has been used to log in before");
    }
    return begin_session(door,
                         {.owner = event->public_key,
                          .permission = *permission,
                          .app_name = files::app_name_of(*event)},
                         request.cookie);
}

void answer_now(const HengdangContext& context, const FileAnswer& answer, net::HttpReply& reply) {
    context.door->counts().count_answer(FileOperation::session, answer.status);
    reply.send(answer.status, answer.content_type, answer.body, headers_of(answer));
}

std::shared_ptr<Exchange> defer(const HengdangContext& context, net::HttpReply& reply) {
    return std::make_shared<Exchange>(context, FileOperation::session, reply.defer());
}

// `token`: with the secret that was shown; null: there is none.
void log_in_by_token(const HengdangContext& context, const rights::TokenPtr& token,
                     const net::HttpRequest& request, net::HttpReply& reply) {
    using rights::Right;
    constexpr rights::Door files_door = rights::Door::files;
    if (!token) {
        return answer_now(context, refuse(401, "Unauthorized", "The secret is not the right one"),
                          reply);
    }
    if (!token->may_something(Right::read, files_door)) {
        const auto denial = rights::refuse_anything(*token, Right::read, files_door);
        return answer_now(context, refuse(denial), reply);
    }
    const auto permission = token->may_something(Right::lock, files_door)
                                ? files::Permission::read_write
                                : files::Permission::read;
    HengdangDoor& door = *context.door;
    answer_from(
        door.writers(), defer(context, reply),
        [&door, permission, owner = session_owner_of(*token), cookie = CookieForm(door, request)] {
            return begin_session(door, {.owner = owner, .permission = permission}, cookie);
        });
}

void log_in(const HengdangContext& context, const net::HttpRequest& request,
            net::HttpReply& reply) {
    HengdangDoor& door = *context.door;
    const std::string_view bearer = net::bearer_token(request);
    if (request.body.empty()) {
        if (bearer.empty()) {
            return answer_now(context,
                              refuse(400, "Invalid Nostr event",
                                     "The body must be a signed event, or be empty beside "
                                     "Authorization: Bearer <secret>"),
                              reply);
        }
        const auto tokens = door.parts().tokens.current();
        const auto token = tokens->find(bearer);
        if (!token) tokens->wrong_secrets().add(rights::Door::files, request.client_host());
        return log_in_by_token(context, token, request, reply);
    }
    const bool is_same_page = request.header("Sec-Fetch-Site") == "same-origin";
    if (!is_same_page && door.parts().origins.find(request) == OriginKind::foreign) {
        return answer_now(context, refuse_origin(), reply);
    }
    LoginRequest login{.method = std::string(request.method),
                       .target = std::string(own_path),
                       .event = std::string(request.body),
                       .cookie = CookieForm(door, request)};
    if (!request.query.empty()) login.target.append("?").append(request.query);
    answer_from(door.writers(), defer(context, reply),
                [&door, login = std::move(login)] { return log_in_by_event(door, login); });
}

// A client with limits ends the sessions that its own token began. It does not learn whether there are
// others.
std::optional<rights::Denial> deny_end(HengdangDoor& door, const Visitor& visitor,
                                       const std::string& name) {
    const rights::Token* const client = visitor.client.get();
    constexpr rights::Door files_door = rights::Door::files;
    if (client == nullptr || client->everywhere(files_door) >= rights::Right::lock) return {};
    for (const files::Session& session : door.sessions().list(door.wall_now())) {
        if (session.name == name && session.owner == visitor.session.owner) return {};
    }
    return rights::refuse_everything(*client, rights::Right::lock, files_door);
}

// `own_cookie`: of the client, if it ends its own session.
void end_session(const HengdangContext& context, const Visitor& visitor, std::string name,
                 const std::optional<CookieForm>& own_cookie, net::HttpReply& reply) {
    HengdangDoor& door = *context.door;
    const bool is_own = name == visitor.session.name;
    answer_from(door.writers(), defer(context, reply),
                [&door, name = std::move(name), by = visitor.by, own_cookie, is_own] {
                    const auto has_ended =
                        is_own ? door.log_out(name, by) : door.end_session(name, by);
                    if (!has_ended) return refuse(500, "Storage failed", has_ended.error().message);
                    if (!*has_ended)
                        return refuse(404, "Not found", "There is no session of this name");
                    return tell_session_ended(own_cookie);
                });
}

}  // namespace

bool is_session_path(std::string_view path) {
    return path == own_path || path == list_path ||
           (path.starts_with(list_path) && path.substr(list_path.size()).starts_with('/'));
}

void handle_session_request(const HengdangContext& context, std::string_view path,
                            const net::HttpRequest& request, net::HttpReply& reply) {
    const bool is_get = request.method == "GET" || request.method == "HEAD";
    const bool is_delete = request.method == "DELETE";
    const bool is_one = path.size() > list_path.size();
    if (path == own_path && request.method == "POST") return log_in(context, request, reply);
    const bool is_allowed = path == own_path ? is_get || is_delete : is_one ? is_delete : is_get;
    if (!is_allowed) {
        const std::string_view others = is_one ? "DELETE" : "GET, HEAD";
        const std::string_view allowed = path == own_path ? "POST, GET, HEAD, DELETE" : others;
        return answer_now(context, refuse_method(allowed), reply);
    }
    HengdangDoor& door = *context.door;
    const Deed deed = is_one ? Deed::change : is_delete ? Deed::leave : Deed::look;
    const auto visitor = admit(door, request, deed);
    if (!visitor && deed == Deed::leave && visitor.error().status == 401) {
        return answer_now(context, tell_session_ended(CookieForm(door, request)), reply);
    }
    if (!visitor) return answer_now(context, visitor.error(), reply);
    const std::string& own_name = visitor->session.name;
    if (is_delete) {
        std::string name = is_one ? std::string(path.substr(list_path.size() + 1)) : own_name;
        std::optional<CookieForm> own_cookie;
        if (name == own_name) own_cookie.emplace(door, request);
        if (const auto denial = deny_end(door, *visitor, name)) {
            return answer_now(context, refuse(*denial), reply);
        }
        return end_session(context, *visitor, std::move(name), own_cookie, reply);
    }
    const bool is_list = path == list_path;
    answer_now(context,
               is_list ? tell_sessions(door.sessions().list(door.wall_now()), *visitor)
                       : tell_own_session(*visitor),
               reply);
}

}  // namespace holdfast::doors::hengdang
