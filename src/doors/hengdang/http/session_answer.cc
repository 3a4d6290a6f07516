// Answers that speak of sessions: see file_answer.h.

#include <chrono>

#include "base/json/json_writer.h"
#include "doors/hengdang/http/file_answer.h"

namespace holdfast::doors::hengdang {

namespace {

constexpr std::string_view permissions = R"("permissions":["read","write"])";
constexpr std::string_view cookie_terms = "; Path=/; HttpOnly; SameSite=Strict";

}  // namespace

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

// The id is not told again: the cookie is kept from scripts, and this would give it to them.
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

FileAnswer tell_session_ended(bool is_own) {
    FileAnswer answer{.status = 204, .content_type = ""};
    if (is_own) {
        answer.headers.emplace_back(
            "Set-Cookie", "hengdang_session=" + std::string(cookie_terms) + "; Max-Age=0");
    }
    return answer;
}

}  // namespace holdfast::doors::hengdang
