#include "app/http/status_handler.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "app/doors.h"
#include "base/json/json_writer.h"
#include "base/text/duration.h"

namespace holdfast::app {

namespace {

enum class StatusAction : std::uint8_t { health, readiness, metrics, status };

using net::Privilege;
using Body = net::BodyPolicy;

// Whether the server lives and is ready is for a supervisor to ask, which need not know secrets.
constexpr net::Route status_routes[] = {
    {"GET, HEAD", "/healthz", Privilege::none, Body::ignored, "health", StatusAction::health},
    {"GET, HEAD", "/readyz", Privilege::none, Body::ignored, "readiness", StatusAction::readiness},
    {"GET, HEAD", "/metrics", Privilege::read, Body::ignored, "metrics", StatusAction::metrics},
    {"GET, HEAD", "/v1/status", Privilege::read, Body::ignored, "status", StatusAction::status,
     net::Reach::asked},
};

constexpr std::string_view files_listener = "files";

// A client with limits learns only of the file door, which the dashboard must find.
void append_listeners(base::JsonWriter& json, const Status& status) {
    const bool has_tls = !status.options.tls.certificate_file.empty();
    json.begin_array("listeners");
    for (const ListenerFigures& listener : status.figures.listeners) {
        if (!status.may_read_all && listener.name != files_listener) continue;
        json.begin_object()
            .field("name", listener.name)
            .field("address", net::to_text(listener.endpoint))
            .field("tls", has_tls && !listener.endpoint.is_unix());
        if (status.may_read_all) json.field("connections", listener.counts.connections);
        json.end_object();
    }
    json.end_array();
}

// By the names of the options, as `holdfast serve --help` tells them.
void append_configuration(base::JsonWriter& json, const Status& status) {
    const auto yes_or_no = [](bool is_so) { return is_so ? "yes" : "no"; };
    const ServeOptions& options = status.options;
    json.begin_object("configuration");
    json.field("files-url", options.files.urls.empty() ? "" : options.files.urls.front());
    if (!status.may_read_all) {
        json.end_object();
        return;
    }
    for (const Door& door : all_doors()) json.field(door.name, address_of(door, options));
    json.field("data", where_locks_are(options))
        .field("threads", std::to_string(options.threads))
        .field("auth token", yes_or_no(has_auth_token(options)))
        .field("admin token", yes_or_no(!options.admin_token_file.empty()))
        .field("tokens", yes_or_no(!options.tokens_file.empty()))
        .field("tls", yes_or_no(!options.tls.certificate_file.empty()))
        .field("default-ttl", base::format_duration(options.homelab.default_ttl))
        .field("grace", base::format_duration(options.homelab.grace))
        .field("lease-duration", base::format_duration(options.scoped.default_duration))
        .field("lease-max", base::format_duration(options.scoped.duration_max))
        .field("leases-max", std::to_string(options.limits.leases_max))
        .field("fences-max", std::to_string(options.fences_max))
        .field("connections-max", std::to_string(options.connections_max))
        .end_object();
}

void append_figures(base::JsonWriter& json, const Figures& figures) {
    const service::ServiceFigures& service = figures.service;
    const service::StoreFigures& store = figures.store;
    const double commit_microseconds = std::round(store.commit_seconds.sum() * 1e6);
    json.begin_object("figures")
        .field("held", service.table.leases)
        .field("waiting", service.table.waiters)
        .field("locks", service.table.locks - service.table.idle)
        .field("sessions", service.table.sessions)
        .field("fences", service.fences)
        .field("grants", service.acquire.success)
        .field("renewals", service.renew.success)
        .field("releases", service.release.success)
        .field("expiries", service.expired)
        .field("forced_releases", service.forced)
        .field("commits", store.commits)
        .field("commit_microseconds", static_cast<std::uint64_t>(commit_microseconds))
        .field("disk_bytes", store.disk_bytes)
        .end_object();
}

// A node that can pass its clients on is as ready as the one that leads.
std::string why_not_ready(const service::ServiceFigures& service, const ClusterControl& cluster) {
    if (!cluster.picture) return service.failure;
    const auto picture = cluster.picture();
    if (picture->is_leading()) return service.failure;
    return picture->is_served() ? cluster.why_not_passed_on() : picture->why_nobody_leads;
}

template <class Reply>
void answer_readiness(const std::string& why_not, Reply& reply) {
    if (why_not.empty()) return reply.send(200, json_type, "{\"status\":\"ready\"}\n");
    std::string body;
    base::JsonWriter(body)
        .begin_object()
        .field("status", "not ready")
        .field("reason", why_not)
        .end_object();
    reply.send(503, json_type, body + "\n");
}

}  // namespace

std::string status_json(const Status& status) {
    std::string body;
    base::JsonWriter json(body);
    const std::string& failure = status.figures.service.failure;
    json.begin_object()
        .field("version", status.figures.version)
        .field("now_ms", status.now.count())
        .field("uptime_ms", status.uptime.count())
        .field("ready", failure.empty());
    if (!failure.empty()) json.field("reason", failure);
    json.field("admin", status.is_admin);
    append_listeners(json, status);
    append_configuration(json, status);
    if (status.may_read_all) append_figures(json, status.figures);
    if (status.may_read_all && status.figures.cluster) {
        json.begin_object("cluster");
        append_cluster(json, *status.figures.cluster);
        json.end_object();
    }
    json.end_object();
    return body + "\n";
}

std::span<const net::Route> StatusHandler::routes() {
    return status_routes;
}

void StatusHandler::handle(const net::RoutedRequest& request, net::HttpReply& reply) {
    const auto action = request.route.action.as<StatusAction>();
    if (action == StatusAction::health) return reply.send(200, json_type, "{\"status\":\"ok\"}\n");
    reply_with(
        parts_.port, service::Measure{}, reply,
        [this, action, privilege = request.privilege](const service::Response& response, auto& to) {
            if (action == StatusAction::readiness) {
                return answer_readiness(why_not_ready(response.figures(), parts_.cluster), to);
            }
            Figures figures = gather(response.figures());
            if (action == StatusAction::metrics) {
                figures.requests = parts_.count_requests();
                figures.certificates = parts_.count_certificates();
                figures.process = read_process_figures();
                return answer_metrics(figures, to);
            }
            answer_status(figures, privilege, to);
        });
}

// The figures of all parts of the server.
Figures StatusHandler::gather(const service::ServiceFigures& service) const {
    return {.service = service,
            .store = parts_.store.figures(),
            .listeners = parts_.count_connections(),
            .version = HOLDFAST_VERSION,
            .files = parts_.count_files(),
            .cluster = parts_.cluster.picture ? parts_.cluster.picture() : nullptr,
            .why_not_passed_on = parts_.cluster.why_not_passed_on(),
            .relayed = parts_.cluster.count_relayed ? parts_.cluster.count_relayed() : 0,
            .tokens = parts_.tokens.current()};
}

template <class Reply>
void StatusHandler::answer_metrics(const Figures& figures, Reply& reply) {
    reply.send(200, "text/plain; version=0.0.4; charset=utf-8", metrics_text(figures));
}

template <class Reply>
void StatusHandler::answer_status(const Figures& figures, net::Privilege privilege,
                                  Reply& reply) const {
    using Milliseconds = std::chrono::milliseconds;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto uptime = std::chrono::steady_clock::now() - started_;
    reply.send(200, json_type,
               status_json({.figures = figures,
                            .options = parts_.options,
                            .now = std::chrono::duration_cast<Milliseconds>(now),
                            .uptime = std::chrono::duration_cast<Milliseconds>(uptime),
                            .is_admin = privilege == Privilege::administer,
                            .may_read_all = privilege >= Privilege::read}),
               {{"Cache-Control", "no-store"}});
}

}  // namespace holdfast::app
