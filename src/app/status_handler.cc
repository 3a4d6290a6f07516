#include "app/status_handler.h"

#include <memory>
#include <string>
#include <utility>

#include "base/json_writer.h"

namespace holdfast::app {

namespace {

constexpr std::string_view json = "application/json";

// A response from another thread.
class LateAnswer final : public service::Answer {
  public:
    using Send = std::function<void(const service::Response&, net::DeferredReply&)>;

    LateAnswer(net::DeferredReply reply, Send send)
        : reply_(std::move(reply)), send_(std::move(send)) {}
    void on_response(const service::Response& response) override { send_(response, reply_); }

  private:
    net::DeferredReply reply_;
    const Send send_;
};

}  // namespace

StatusHandler::StatusHandler(service::Port& port, const service::Store& store, Counters counters)
    : port_(port), store_(store), counters_(std::move(counters)) {}

bool StatusHandler::is_status_path(std::string_view path) {
    return path == "/healthz" || path == "/readyz" || path == "/metrics";
}

void StatusHandler::handle(const net::HttpRequest& request, net::HttpReply& reply) {
    if (request.method != "GET" && request.method != "HEAD") {
        reply.send(405, json, "{\"error\":\"method not allowed\"}\n", {{"Allow", "GET, HEAD"}});
    } else if (request.path == "/healthz") {
        reply.send(200, json, "{\"status\":\"ok\"}\n");
    } else {
        ask(request.path == "/metrics" ? Question::metrics : Question::readiness, reply);
    }
}

void StatusHandler::ask(Question question, net::HttpReply& reply) {
    if (const service::Response* response = port_.submit(service::Measure{})) {
        return answer(question, *response, reply);
    }
    port_.await(std::make_unique<LateAnswer>(
        reply.defer(),
        [this, question](const service::Response& response, net::DeferredReply& later) {
            answer(question, response, later);
        }));
}

template <class Reply>
void StatusHandler::answer(Question question, const service::Response& response,
                           Reply& reply) const {
    const service::ServiceFigures& service = *response.figures;
    if (question == Question::metrics) {
        const std::string text = metrics_text({.service = service,
                                               .store = store_.figures(),
                                               .listeners = counters_.connections(),
                                               .version = HOLDFAST_VERSION,
                                               .files = counters_.files()});
        reply.send(200, "text/plain; version=0.0.4; charset=utf-8", text);
        return;
    }
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
