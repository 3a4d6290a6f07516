#include "app/http/status_handler.h"

#include <memory>
#include <string>
#include <utility>

#include "app/http/reply_with.h"
#include "app/http/status_json.h"
#include "base/json/json_writer.h"

namespace holdfast::app {

namespace {

constexpr std::string_view json = "application/json";

}  // namespace

bool StatusHandler::is_status_path(std::string_view path) {
    return path == "/healthz" || path == "/readyz" || path == "/metrics" || path == "/v1/status";
}

void StatusHandler::handle(const net::HttpRequest& request, net::HttpReply& reply) {
    if (request.method != "GET" && request.method != "HEAD") {
        reply.send(405, json, "{\"error\":\"method not allowed\"}\n", {{"Allow", "GET, HEAD"}});
    } else if (request.path == "/healthz") {
        reply.send(200, json, "{\"status\":\"ok\"}\n");
    } else {
        const Matter matter = request.path == "/metrics"  ? Matter::metrics
                              : request.path == "/readyz" ? Matter::readiness
                                                          : Matter::status;
        ask({.matter = matter, .is_privileged = request.is_privileged}, reply);
    }
}

void StatusHandler::ask(Question question, net::HttpReply& reply) {
    reply_with(parts_.port, service::Measure{}, reply,
               [this, question](const service::Response& response, auto& to) {
                   answer(question, response, to);
               });
}

template <class Reply>
void StatusHandler::answer(Question question, const service::Response& response,
                           Reply& reply) const {
    const service::ServiceFigures& service = response.figures();
    if (question.matter == Matter::readiness) return answer_readiness(service, reply);
    const Figures figures{.service = service,
                          .store = parts_.store.figures(),
                          .listeners = parts_.count_connections(),
                          .version = HOLDFAST_VERSION,
                          .files = parts_.count_files()};
    if (question.matter == Matter::metrics) {
        return reply.send(200, "text/plain; version=0.0.4; charset=utf-8", metrics_text(figures));
    }
    const auto uptime = std::chrono::steady_clock::now() - started_;
    reply.send(200, json,
               status_json({.figures = figures,
                            .options = parts_.options,
                            .now = std::chrono::duration_cast<std::chrono::milliseconds>(
                                std::chrono::system_clock::now().time_since_epoch()),
                            .uptime = std::chrono::duration_cast<std::chrono::milliseconds>(uptime),
                            .is_privileged = question.is_privileged}),
               {{"Cache-Control", "no-store"}});
}

template <class Reply>
void StatusHandler::answer_readiness(const service::ServiceFigures& service, Reply& reply) {
    if (service.failure.empty()) return reply.send(200, json, "{\"status\":\"ready\"}\n");
    std::string body;
    base::JsonWriter(body)
        .begin_object()
        .field("status", "not ready")
        .field("reason", service.failure)
        .end_object();
    reply.send(503, json, body + "\n");
}

}  // namespace holdfast::app
