#include "app/cluster/cluster_handler.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace holdfast::app {

namespace {

enum class ClusterAction : std::uint8_t { show, resign, begin_epoch };

using net::Privilege;
using net::Reach;
using service::AdminAction;
using Body = net::BodyPolicy;

constexpr net::Route cluster_routes[] = {
    {"GET, HEAD", "/v1/cluster", Privilege::read, Body::ignored, "cluster", ClusterAction::show},
    {"POST", "/v1/cluster/resign", Privilege::administer, Body::ignored, "clusterResign",
     ClusterAction::resign, Reach::everything, "handing over needs the admin token"},
    {"POST", "/v1/cluster/new-epoch", Privilege::administer, Body::ignored, "clusterNewEpoch",
     ClusterAction::begin_epoch, Reach::everything, "a new epoch needs the admin token"},
};

// Shows nothing that a supervisor on this machine may not see.
constexpr net::Route node_routes[] = {
    {"GET, HEAD", "/v1/node", Privilege::read, Body::ignored, "", ClusterAction::show,
     Reach::anything},
};

constexpr std::string_view stands_alone =
    "this server stands alone: it was started without --cluster";

std::int64_t milliseconds_of(service::WallTime time) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

void append_leader(base::JsonWriter& json, const cluster::Picture& picture) {
    if (!picture.is_served()) {
        json.field("leader", "").field("reason", picture.why_nobody_leads);
        return;
    }
    json.field("leader", picture.leader.name)
        .field("epoch", picture.leader.epoch)
        .field("since_ms", milliseconds_of(picture.leader.since));
}

void append_etcd(base::JsonWriter& json, const cluster::EtcdPicture& etcd) {
    json.begin_object("etcd")
        .field("version", etcd.version)
        .field("database_bytes", etcd.database_bytes)
        .field("in_use_bytes", etcd.in_use_bytes)
        .field("quota_bytes", etcd.quota_bytes);
    if (!etcd.alarms.empty()) {
        json.field("alarms", fmt::format("{}", fmt::join(etcd.alarms, ", ")));
    }
    if (!etcd.refuses_growth.empty()) json.field("refuses_growth", etcd.refuses_growth);
    if (!etcd.warnings.empty()) {
        json.begin_array("warnings");
        for (const std::string& warning : etcd.warnings) json.element(warning);
        json.end_array();
    }
    json.end_object();
}

}  // namespace

void append_cluster(base::JsonWriter& json, const cluster::Picture& picture) {
    append_leader(json, picture);
    json.begin_array("nodes");
    for (const cluster::Node& node : picture.nodes) {
        json.begin_object()
            .field("name", node.name)
            .field("peer", node.peer)
            .field("version", node.version)
            .field("started_ms", milliseconds_of(node.started))
            .field("leads", picture.is_served() && node.name == picture.leader.name)
            .end_object();
    }
    json.end_array();
    append_etcd(json, picture.etcd);
}

std::string cluster_json(const cluster::Picture& picture) {
    std::string body;
    base::JsonWriter json(body);
    json.begin_object();
    append_cluster(json, picture);
    json.end_object();
    return body + "\n";
}

std::string node_json(const cluster::Picture& picture) {
    std::string body;
    base::JsonWriter json(body);
    json.begin_object().field("node", picture.node).field("role", cluster::to_text(picture.role));
    append_leader(json, picture);
    append_etcd(json, picture.etcd);
    json.end_object();
    return body + "\n";
}

std::span<const net::Route> ClusterHandler::routes() {
    return cluster_routes;
}

void ClusterHandler::handle(const net::RoutedRequest& request, net::HttpReply& reply) {
    if (!control_.picture) return reply.send(404, json_type, json_error(stands_alone));
    switch (request.route.action.as<ClusterAction>()) {
        case ClusterAction::show:
            return reply.send(200, json_type, cluster_json(*control_.picture()),
                              {{"Cache-Control", "no-store"}});
        case ClusterAction::resign:
            return change(control_.resign, {AdminAction::resign, request.by}, reply);
        case ClusterAction::begin_epoch:
            return change(control_.begin_epoch, {AdminAction::new_epoch, request.by}, reply);
    }
}

// The answer comes from the main loop and leaves on this one. The connection may be gone by then: the
// reply knows.
void ClusterHandler::change(const std::function<void(ClusterControl::Done)>& call,
                            const Asked& asked, net::HttpReply& reply) {
    auto later = std::make_shared<net::DeferredReply>(reply.defer());
    call([&port = port_, &loop = loop_, later = std::move(later), action = asked.action,
          by = std::string(asked.by)](const base::Result<std::string>& result) {
        loop.post([&port, later, action, by, result] {
            if (!result) return later->send(409, json_type, json_error(result.error().message));
            service::tell(port, {action, *result}, by);
            std::string body;
            base::JsonWriter(body).begin_object().field("done", *result).end_object();
            later->send(200, json_type, body + "\n");
        });
    });
}

std::span<const net::Route> NodeHandler::routes() {
    return node_routes;
}

void NodeHandler::handle(const net::RoutedRequest& /*request*/, net::HttpReply& reply) {
    if (!control_.picture) return reply.send(404, json_type, json_error(stands_alone));
    reply.send(200, json_type, node_json(*control_.picture()), {{"Cache-Control", "no-store"}});
}

}  // namespace holdfast::app
