#include "app/http/session_handler.h"

#include <algorithm>
#include <utility>

#include "base/json/json_writer.h"
#include "base/text/number.h"
#include "net/client/url.h"
#include "service/doors.h"

namespace holdfast::app {

namespace {

constexpr std::size_t page_default = 100, page_max = 1'000;

enum class SessionAction : std::uint8_t { list, end };

using net::Privilege;
using Body = net::BodyPolicy;

constexpr net::Route session_routes[] = {
    {"GET, HEAD", "/v1/sessions", Privilege::read, Body::ignored, "listSessions",
     SessionAction::list},
    {"DELETE", "/v1/sessions/{id}", Privilege::administer, Body::ignored, "endSession",
     SessionAction::end, net::Reach::everything, "ending a session needs the admin token"},
};

std::string id_of(core::SessionId session) {
    return std::to_string(session.serial) + "-" + std::to_string(session.slot);
}

// Reads what id_of() wrote.
std::optional<core::SessionId> parse_id(std::string_view text) {
    const std::size_t dash = text.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    const auto serial = base::parse_decimal<std::uint64_t>(text.substr(0, dash));
    const auto slot = base::parse_decimal<std::uint32_t>(text.substr(dash + 1));
    if (!serial || !slot) return std::nullopt;
    return core::SessionId{.serial = *serial, .slot = *slot};
}

base::Result<core::SessionQuery> read_query(std::string_view query) {
    core::SessionQuery read{.limit = page_default};
    TRY(const auto after, net::query_parameter(query, "after"));
    TRY(const auto limit, net::query_parameter(query, "limit"));
    if (after) {
        const auto number = base::parse_decimal<std::uint64_t>(*after);
        if (!number) return base::fail("after must be the `next` of an earlier page");
        read.after = *number;
    }
    if (limit) {
        const auto number = base::parse_decimal<std::size_t>(*limit);
        if (!number || *number == 0 || *number > page_max) {
            return base::fail("limit must be in [1, 1000]");
        }
        read.limit = *number;
    }
    return read;
}

template <class Reply>
void answer_ended(bool has_ended, Reply& reply) {
    if (has_ended) return reply.send(200, json_type, "{\"ended\":true}\n");
    reply.send(404, json_type, json_error("there is no session of this id"));
}

template <class Reply>
void answer_ended(const service::Response& response, Reply& reply) {
    if (!response.failure.empty()) return reply.send(503, json_type, json_error(response.failure));
    answer_ended(response.count > 0, reply);
}

}  // namespace

std::span<const net::Route> SessionHandler::routes() {
    return session_routes;
}

void SessionHandler::handle(const net::RoutedRequest& request, net::HttpReply& reply) {
    if (request.route.action.as<SessionAction>() == SessionAction::list)
        return list(request.http, reply);
    end(request, reply);
}

void SessionHandler::list(const net::HttpRequest& request, net::HttpReply& reply) {
    auto query = read_query(request.query);
    if (!query) return reply.send(400, json_type, json_error(query.error().message));
    const std::size_t limit = query->limit;
    ++query->limit;  // one more tells whether there is another page
    reply_with(
        parts_.port, service::ListSessions{.query = *query}, reply,
        [this, limit](const service::Response& response, auto& to) {
            if (!response.failure.empty()) {
                return to.send(503, json_type, json_error(response.failure));
            }
            to.send(200, json_type, list_text(response, limit), {{"Cache-Control", "no-store"}});
        });
}

std::string SessionHandler::list_text(const service::Response& response, std::size_t limit) const {
    const auto& sessions = response.sessions();
    const std::size_t shown = std::min(sessions.size(), limit);
    const bool has_more = shown < sessions.size();
    std::string body;
    base::JsonWriter json_body(body);
    json_body.begin_object().begin_array("sessions");
    for (std::size_t index = 0; index < shown; ++index) {
        const core::SessionView& session = sessions[index];
        const auto opened_at = parts_.clock.wall(session.opened_at).time_since_epoch();
        json_body.begin_object()
            .field("id", id_of(session.id))
            .field("door", service::to_text(session.owner.door))
            .field("owner_id", session.owner.name)
            .field("opened_at_ms",
                   std::chrono::duration_cast<std::chrono::milliseconds>(opened_at).count())
            .field("leases", session.leases)
            .field("waits", session.waiters)
            .end_object();
    }
    if (parts_.files && !has_more) {
        auto& door = *parts_.files;
        for (const files::Session& login : door.sessions().list(door.wall_now())) {
            json_body.begin_object()
                .field("id", login.name)
                .field("door", service::to_text(service::hengdang_door))
                .field("owner_id", login.owner)
                .field("opened_at_ms", login.created_ms)
                .field("expires_at_ms", login.expires_ms)
                .end_object();
        }
    }
    json_body.end_array();
    if (has_more) json_body.field("next", std::to_string(sessions[shown - 1].id.serial));
    if (response.position > 0) json_body.field("position", response.position);
    json_body.end_object();
    return body + "\n";
}

void SessionHandler::end(const net::RoutedRequest& request, net::HttpReply& reply) {
    const std::string_view id = request.parameter;
    if (const auto session = parse_id(id)) return end_connection(*session, request.by, reply);
    if (parts_.files) return end_login(std::string(id), std::string(request.by), reply);
    answer_ended(false, reply);
}

void SessionHandler::end_connection(core::SessionId session, std::string_view by,
                                    net::HttpReply& reply) {
    reply_with(
        parts_.port, service::EndSession{.session = session}, reply,
        [&port = parts_.port, session, by = std::string(by)](const service::Response& response,
                                                             auto& to) {
            const bool has_ended = response.failure.empty() && response.count > 0;
            answer_ended(response, to);
            if (!has_ended) return;
            const std::string id = id_of(session);
            service::tell(port, {service::AdminAction::end_session, id}, by);
        },
        by);
}

// A login is deleted on disk. The loop must not wait for that, so another thread does it.
void SessionHandler::end_login(std::string name, std::string by, net::HttpReply& reply) {
    const auto door = parts_.files;
    const auto later = std::make_shared<net::DeferredReply>(reply.defer());
    door->writers().run(
        [door, &loop = parts_.loop, later, name = std::move(name), by = std::move(by)] {
            loop.post([later, has_ended = door->end_session(name, by)] {
                if (!has_ended)
                    return later->send(503, json_type, json_error(has_ended.error().message));
                answer_ended(*has_ended, *later);
            });
        });
}

}  // namespace holdfast::app
