#pragma once

// StatusHandler: how the server is, for machines that watch over it.
//
//     GET /healthz   200 {"status":"ok"}: the process lives and answers
//     GET /readyz    200 {"status":"ready"}, or 503 with the reason: whether locks are granted
//     GET /metrics   everything counted, for Prometheus
//
// Thread safety: one handler per loop.

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "app/metrics_text.h"
#include "net/http_protocol.h"
#include "service/port.h"
#include "service/store.h"

namespace holdfast::app {

class StatusHandler final : public net::HttpHandler {
  public:
    // What others have counted. Called on the handler's loop.
    struct Counters {
        std::function<std::vector<ListenerFigures>()> connections;
        std::function<std::optional<dialects::hengdang::FileFigures>()> files;
    };

    // The port and the store outlive the handler.
    StatusHandler(service::Port& port, const service::Store& store, Counters counters);

    [[nodiscard]] static bool is_status_path(std::string_view path);

    void handle(const net::HttpRequest& request, net::HttpReply& reply) override;

  private:
    enum class Question : std::uint8_t { metrics, readiness };

    void ask(Question question, net::HttpReply& reply);
    template <class Reply>
    void answer(Question question, const service::Response& response, Reply& reply) const;

    service::Port& port_;
    const service::Store& store_;
    const Counters counters_;
};

}  // namespace holdfast::app
