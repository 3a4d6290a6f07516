#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json/json_writer.h"
#include "doors/hengdang/http/request_parts.h"
#include "doors/hengdang/requests.h"
#include "files/login/nostr_event.h"

namespace holdfast::doors::hengdang {

namespace {

constexpr std::string_view own_path = "/auth/session", list_path = "/auth/sessions";
// The owner of a session that began with the server's secret.
constexpr std::string_view secret_owner = "secret";

constexpr std::string_view permissions = R"("permissions":["read","write"])";
constexpr std::string_view cookie_terms = "; Path=/; HttpOnly; SameSite=Strict";

// 201 with the id, which is told only here, and the cookie.
FileAnswer tell_new_session(const files::SessionBook::NewSession& session, bool is_secure) {
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(files::session_time);
    std::string cookie = "hengdang_session=" + session.id + std::string(cookie_terms) +
                         "; Max-Age=" + std::to_string(age.count());
    if (is_secure) cookie += "; Secure";
    std::string body = R"({"sessionId":")" + session.id + "\"," + std::string(permissions) +
                       ",\"expiresAt\":" + std::to_string(session.session.expires_ms) +
                       ",\"name\":\"" + session.session.name + "\"}\n";
    return {.status = 201,
            .body = std::move(body),
            .headers = {{"Set-Cookie", std::move(cookie)}, {"Cache-Control", "no-store"}}};
}

// Without the id: scripts cannot read the cookie, and must not learn the id from this answer.
FileAnswer tell_session(const files::Session& session) {
    std::string body = "{" + std::string(permissions) +
                       ",\"expiresAt\":" + std::to_string(session.expires_ms) +
                       ",\"createdAt\":" + std::to_string(session.created_ms) + ",\"name\":\"" +
                       session.name + "\",\"owner\":";
    base::append_json_string(body, session.owner);
    body += "}\n";
    return {.status = 200, .body = std::move(body), .headers = {{"Cache-Control", "no-store"}}};
}

FileAnswer tell_sessions(const std::vector<files::Session>& sessions, std::string_view own_name) {
    FileAnswer answer{.status = 200, .headers = {{"Cache-Control", "no-store"}}};
    base::JsonWriter json(answer.body);
    json.begin_object().begin_array("sessions");
    for (const files::Session& session : sessions) {
        json.begin_object()
            .field("name", session.name)
            .field("owner", session.owner)
            .field("createdAt", session.created_ms)
            .field("expiresAt", session.expires_ms)
            .field("current", session.name == own_name)
            .end_object();
    }
    json.end_array().end_object();
    answer.body += '\n';
    return answer;
}

// 204. The session's own cookie is replaced by an empty one.
FileAnswer tell_session_ended(bool is_own) {
    FileAnswer answer{.status = 204, .content_type = ""};
    if (is_own) {
        answer.headers.emplace_back(
            "Set-Cookie", "hengdang_session=" + std::string(cookie_terms) + "; Max-Age=0");
    }
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

FileAnswer begin_session(HengdangDoor& door, std::string_view owner) {
    const auto session = door.sessions().create(owner, door.wall_now());
    if (!session) return refuse(503, "No session", session.error().message);
    return tell_new_session(*session, door.parts().has_tls);
}

// The request that the event of a login must be signed for.
struct LoginRequest {
    std::string method;
    std::string target;
    std::string event;  // the body
};

FileAnswer log_in_by_event(HengdangDoor& door, const LoginRequest& request) {
    const std::vector<std::string> urls = door.own_urls().of(request.target);
    const auto event =
        files::verify_nostr_event(request.event, {.urls = urls,
                                                  .method = request.method,
                                                  .owner_keys = door.options().owner_keys,
                                                  .now = door.wall_now()});
    if (!event) {
        const files::NostrRefusal& why = event.error();
        return refuse(status_of(why.fault), files::to_text(why.fault), why.message);
    }
    const auto is_fresh = door.used_events().use(*event, door.wall_now());
    if (!is_fresh) return refuse(503, "No session", is_fresh.error().message);
    if (!*is_fresh) {
        return refuse(400, "Invalid auth event", "The event has been used to log in before");
    }
    return begin_session(door, event->public_key);
}

void answer_now(const HengdangContext& context, const FileAnswer& answer, net::HttpReply& reply) {
    context.door->counts().count_answer(FileOperation::session, answer.status);
    reply.send(answer.status, answer.content_type, answer.body, headers_of(answer));
}

std::shared_ptr<Exchange> defer(const HengdangContext& context, net::HttpReply& reply) {
    return std::make_shared<Exchange>(context, FileOperation::session, reply.defer());
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
        if (!door.parts().is_secret(bearer)) {
            return answer_now(
                context, refuse(401, "Unauthorized", "The secret is not the right one"), reply);
        }
        answer_from(door.writers(), defer(context, reply),
                    [&door] { return begin_session(door, secret_owner); });
        return;
    }
    LoginRequest login{.method = std::string(request.method),
                       .target = std::string(own_path),
                       .event = std::string(request.body)};
    if (!request.query.empty()) login.target.append("?").append(request.query);
    answer_from(door.writers(), defer(context, reply),
                [&door, login = std::move(login)] { return log_in_by_event(door, login); });
}

void end_session(const HengdangContext& context, std::string name, bool is_own,
                 net::HttpReply& reply) {
    HengdangDoor& door = *context.door;
    answer_from(door.writers(), defer(context, reply), [&door, name = std::move(name), is_own] {
        const auto has_ended = door.end_session(name);
        if (!has_ended) return refuse(500, "Storage failed", has_ended.error().message);
        if (!*has_ended) return refuse(404, "Not found", "There is no session of this name");
        return tell_session_ended(is_own);
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
    auto session = find_session(request, door.sessions(), door.wall_now());
    if (!session) return answer_now(context, session.error(), reply);
    if (is_one) {
        std::string name(path.substr(list_path.size() + 1));
        const bool is_own = name == session->name;
        return end_session(context, std::move(name), is_own, reply);
    }
    if (is_delete) return end_session(context, session->name, true, reply);
    const bool is_list = path == list_path;
    answer_now(context,
               is_list ? tell_sessions(door.sessions().list(door.wall_now()), session->name)
                       : tell_session(*session),
               reply);
}

}  // namespace holdfast::doors::hengdang
