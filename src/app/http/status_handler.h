#pragma once

// StatusHandler: how the server is, for machines that watch over it.
//
//     GET /healthz     200 {"status":"ok"}: the process lives and answers
//     GET /readyz      200 {"status":"ready"}, or 503 with the reason: whether locks are granted
//     GET /metrics     everything that is counted, for Prometheus
//     GET /v1/status   what the server is, where it listens, how it was started and the most
//                      important figures, for the dashboard
//
// Thread safety: one handler per loop.

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/cluster/cluster_handler.h"
#include "app/http/json_replies.h"
#include "app/http/metrics_text.h"
#include "app/serve_options.h"
#include "rights/token_table.h"
#include "service/ports/port.h"
#include "service/store.h"

namespace holdfast::app {

// What `GET /v1/status` says: the server about itself.
struct Status {
    const Figures& figures;
    const ServeOptions& options;
    std::chrono::milliseconds now{0};  // since 1970
    std::chrono::milliseconds uptime{0};
    bool is_admin = false;  // whether the client may end other people's leases
    // Otherwise no figures, which count locks that the client may not see, and nothing of how the
    // server was started and who is connected.
    bool may_read_all = true;
};

// A JSON object and a newline. Of secrets it says only whether there are any.
[[nodiscard]] std::string status_json(const Status& status);

class StatusHandler final : public JsonHandler {
  public:
    // All outlive the handler. The functions may be called on the handler's loop.
    struct Parts {
        service::Port& port;
        const service::Store& store;
        const ServeOptions& options;
        std::function<std::vector<ListenerFigures>()> count_connections;
        const ClusterControl& cluster;
        std::function<std::optional<doors::hengdang::FileFigures>()> count_files;
        const rights::TokenSource& tokens;
        std::function<std::vector<ListenerRequests>()> count_requests;
        std::function<std::vector<CertificateFigures>()> count_certificates;
    };

    explicit StatusHandler(Parts parts) : parts_(std::move(parts)) {}

    [[nodiscard]] static std::span<const net::Route> routes();

    void handle(const net::RoutedRequest& request, net::HttpReply& reply) override;

  private:
    [[nodiscard]] Figures gather(const service::ServiceFigures& service) const;
    template <class Reply>
    static void answer_metrics(const Figures& figures, Reply& reply);
    template <class Reply>
    void answer_status(const Figures& figures, net::Privilege privilege, Reply& reply) const;

    const Parts parts_;
    const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace holdfast::app
