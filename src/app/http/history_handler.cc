#include "app/http/history_handler.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/json/json_writer.h"
#include "base/text/number.h"
#include "base/text/rfc3339.h"
#include "core/values/scope.h"
#include "doors/scoped/scope_json.h"
#include "net/client/url.h"
#include "rights/token.h"
#include "service/doors.h"

namespace holdfast::app {

namespace {

constexpr std::size_t page_default = 100, page_max = 1'000;

constexpr net::Route history_routes[] = {
    {"GET, HEAD", "/v1/history", net::Privilege::read, net::BodyPolicy::ignored, "listHistory",
     net::RouteAction(), net::Reach::asked},
};

std::string problem(std::string_view code, std::string_view message) {
    std::string body;
    base::JsonWriter(body)
        .begin_object()
        .field("error", code)
        .field("message", message)
        .end_object();
    return body + "\n";
}

base::Result<std::optional<service::WallTime>> read_time(std::string_view query, const char* name) {
    TRY(const auto text, net::query_parameter(query, name));
    if (!text) return std::nullopt;
    if (const auto time = base::parse_rfc3339(*text)) return service::WallTime{*time};
    constexpr std::int64_t ms_max = 253'402'300'799'999;  // the end of the year 9999
    const auto ms = base::parse_decimal<std::int64_t>(*text);
    if (!ms || *ms < 0 || *ms > ms_max) {
        return base::fail(std::string(name) +
                          " must be a time such as 2026-01-15T10:30:00Z, or milliseconds since "
                          "1970");
    }
    return service::WallTime{std::chrono::milliseconds{*ms}};
}

base::Result<void> read_scope(std::string_view query, service::HistoryQuery& read) {
    TRY(const auto text, net::query_parameter(query, "scope"));
    if (!text) return {};
    const auto scope = core::parse_scope(*text);
    if (!scope) {
        return base::fail(
            "scope must be the text of a lock, such as deploy, semaphore:pool, path:/a or "
            "range:7:0-4096");
    }
    read.kind = scope->kind;
    read.name = scope->name;
    read.inode = scope->inode;
    read.range = scope->range;
    return {};
}

base::Result<void> read_page(std::string_view query, service::HistoryQuery& read) {
    TRY(const auto after, net::query_parameter(query, "after"));
    TRY(const auto limit, net::query_parameter(query, "limit"));
    if (after) {
        const auto number = base::parse_decimal<std::uint64_t>(*after);
        if (!number || *number == 0 || *number > INT64_MAX) {
            return base::fail("after must be the `next` of an earlier page");
        }
        read.after = *number;
    }
    read.limit = page_default;
    if (limit) {
        const auto number = base::parse_decimal<std::size_t>(*limit);
        if (!number || *number == 0 || *number > page_max) {
            return base::fail("limit must be in [1, 1000]");
        }
        read.limit = *number;
    }
    return {};
}

std::string to_text(service::WallTime time) {
    std::string text;
    base::append_rfc3339_milliseconds(text, time);
    return text;
}

void append_hold(base::JsonWriter& json, const service::Hold& hold) {
    json.begin_object().field("fencing_token", hold.fence);
    doors::scoped::append_scope(json, "scope", hold.scope());
    if (!hold.members.empty()) {
        json.begin_array("scopes");
        for (const core::SetMember& member : hold.scopes()) {
            json.begin_object();
            doors::scoped::append_scope(json, "scope", member.scope);
            json.field("mode", core::to_text(member.mode)).end_object();
        }
        json.end_array();
    }
    json.field("holder", hold.owner)
        .field("door", service::to_text(hold.door))
        .field("mode", core::to_text(hold.mode))
        .field("waited_ms",
               std::chrono::duration_cast<std::chrono::milliseconds>(hold.waited).count())
        .field("acquired_at", to_text(hold.acquired_at))
        .field("ended_at", to_text(hold.ended_at))
        .field("ended", service::to_text(hold.ending));
    if (!hold.metadata.empty()) json.field("metadata", hold.metadata);
    if (!hold.granted_by.empty()) json.field("granted_by", hold.granted_by);
    if (!hold.ended_by.empty()) json.field("ended_by", hold.ended_by);
    json.end_object();
}

}  // namespace

base::Result<service::HistoryQuery> read_history_query(std::string_view query) {
    service::HistoryQuery read;
    TRY(read_scope(query, read));
    TRY(auto prefix, net::query_parameter(query, "prefix"));
    TRY(auto owner, net::query_parameter(query, "owner"));
    read.prefix = std::move(prefix).value_or("");
    read.owner = std::move(owner).value_or("");
    TRY(read.since, read_time(query, "since"));
    TRY(read.until, read_time(query, "until"));
    TRY(read_page(query, read));
    return read;
}

std::string history_text(const service::HistoryPage& page, std::uint64_t position) {
    std::string body;
    base::JsonWriter json(body);
    json.begin_object().begin_array("history");
    for (const service::Hold& hold : page.holds) append_hold(json, hold);
    json.end_array();
    if (page.next != 0) json.field("next", std::to_string(page.next));
    json.field("position", position);
    if (page.kept_since) json.field("kept_since", to_text(*page.kept_since));
    json.end_object();
    return body + "\n";
}

std::span<const net::Route> HistoryHandler::routes() {
    return history_routes;
}

// The position is read first: the history has at least all that the events up to it tell.
void HistoryHandler::handle(const net::RoutedRequest& request, net::HttpReply& reply) {
    if (!parts_.store.keeps_history()) {
        return reply.send(
            404, json_type,
            problem("HistoryOff", "this server keeps no history: it was started with --history 0"));
    }
    auto query = read_history_query(request.http.query);
    if (!query) {
        return reply.send(400, json_type, problem("BadRequest", query.error().message));
    }
    query->filter = rights::readable_by(request.client, rights::Door::http);
    const auto later = std::make_shared<net::DeferredReply>(reply.defer());
    parts_.store.read_history(
        std::move(*query), [&loop = parts_.loop, later, position = parts_.feed.position()](
                               service::StoreResult<service::HistoryPage> read) {
            const bool is_read = read.has_value();
            std::string body = is_read ? history_text(*read, position)
                                       : problem(read.error().is_busy ? "StoreBusy" : "StoreFailed",
                                                 read.error().message);
            loop.post([later, is_read, body = std::move(body)] {
                later->send(is_read ? 200 : 503, json_type, body, {{"Cache-Control", "no-store"}});
            });
        });
}

}  // namespace holdfast::app
