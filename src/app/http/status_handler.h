#pragma once

// StatusHandler: how the server is, for machines that watch over it.
//
//     GET /healthz   200 {"status":"ok"}: the process lives and answers
//     GET /readyz    200 {"status":"ready"}, or 503 with the reason: whether locks are granted
//     GET /metrics   everything counted, for Prometheus
//     GET /v1/status what it is, where it listens, how it was started and the most telling figures,
//                    for the dashboard
//
// Thread safety: one handler per loop.

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "app/http/metrics_text.h"
#include "app/serve_options.h"
#include "net/http/http_protocol.h"
#include "service/ports/port.h"
#include "service/store.h"

namespace holdfast::app {

class StatusHandler final : public net::HttpHandler {
  public:
    // All outlive the handler. What counts may be called on its loop.
    struct Parts {
        service::Port& port;
        const service::Store& store;
        const ServeOptions& options;
        std::function<std::vector<ListenerFigures>()> count_connections;
        std::function<std::optional<doors::hengdang::FileFigures>()> count_files;
    };

    explicit StatusHandler(Parts parts) : parts_(std::move(parts)) {}

    [[nodiscard]] static bool is_status_path(std::string_view path);

    void handle(const net::HttpRequest& request, net::HttpReply& reply) override;

  private:
    enum class Matter : std::uint8_t { metrics, readiness, status };
    struct Question {
        Matter matter;
        bool is_privileged;  // whoever asks
    };

    void ask(Question question, net::HttpReply& reply);
    template <class Reply>
    void answer(Question question, const service::Response& response, Reply& reply) const;
    template <class Reply>
    static void answer_readiness(const service::ServiceFigures& service, Reply& reply);

    const Parts parts_;
    const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace holdfast::app
