#include "app/http/status_json.h"

#include <cmath>
#include <string_view>

#include "app/doors.h"
#include "base/json/json_writer.h"
#include "base/text/duration.h"

namespace holdfast::app {

namespace {

void append_listeners(base::JsonWriter& json, const Status& status) {
    const bool has_tls = !status.options.tls.certificate_file.empty();
    json.begin_array("listeners");
    for (const ListenerFigures& listener : status.figures.listeners) {
        json.begin_object()
            .field("name", listener.name)
            .field("address", net::to_text(listener.endpoint))
            .field("tls", has_tls && !listener.endpoint.is_unix())
            .field("connections", listener.counts.connections)
            .end_object();
    }
    json.end_array();
}

// By the names of the options, as `holdfast serve --help` tells them.
void append_configuration(base::JsonWriter& json, const ServeOptions& options) {
    const bool has_auth = !options.auth_token.empty() || !options.auth_token_file.empty();
    const auto yes_or_no = [](bool is_so) { return is_so ? "yes" : "no"; };
    json.begin_object("configuration");
    for (const Door& door : all_doors()) json.field(door.name, address_of(door, options));
    json.field("data", options.is_in_memory ? "in memory" : database_file(options))
        .field("threads", std::to_string(options.threads))
        .field("auth token", yes_or_no(has_auth))
        .field("admin token", yes_or_no(!options.admin_token_file.empty()))
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
    json.field("admin", status.is_privileged);
    append_listeners(json, status);
    append_configuration(json, status.options);
    append_figures(json, status.figures);
    json.end_object();
    return body + "\n";
}

}  // namespace holdfast::app
