#include "doors/hengdang/door_gate.h"

#include <optional>
#include <utility>

#include "base/check.h"
#include "doors/hengdang/http/file_answer.h"

namespace holdfast::doors::hengdang {

namespace {

constexpr std::string_view not_serving = "Files not available";
constexpr net::HttpFault broken_off{
    503,
    "{\"error\":\"Files not available\",\"message\":\"The server stopped serving the files before "
    "the whole body had arrived; nothing was changed\"}\n"};

// The door has no table of routes: what it does depends on more than the path. These are the paths
// that look different.
constexpr net::Route path_shapes[] = {
    {"GET, HEAD, POST, DELETE", "/auth/session"},
    {"GET, HEAD, POST, DELETE", "/auth/sessions"},
    {"GET, HEAD, POST, DELETE", "/auth/sessions/{name}"},
    {"GET, HEAD", "/events/stream"},
    {"GET, HEAD, PUT, PATCH, DELETE, POST", "/{file...}"},
};

}  // namespace

// A body on its way to the sink of the handler. When it is broken off, the rest of it is skipped.
class DoorGate::Body final : public net::BodySink {
  public:
    Body(DoorGate& gate, std::unique_ptr<net::BodySink> sink, net::BodySource& source)
        : gate_(gate),
          sink_(std::move(sink)),
          source_(source),
          place_(gate.bodies_.insert(gate.bodies_.end(), this)) {}
    ~Body() override {
        if (place_) gate_.bodies_.erase(*place_);
    }

    void on_piece(std::string_view piece) override {
        if (place_) sink_->on_piece(piece);
    }
    void on_whole() override {
        if (place_) sink_->on_whole();
    }
    void on_fault(const net::HttpFault& fault) override {
        if (place_) sink_->on_fault(fault);
    }
    [[nodiscard]] bool is_congested() const override { return place_ && sink_->is_congested(); }
    [[nodiscard]] bool is_wanted() const override { return place_ && sink_->is_wanted(); }

    void break_off() {
        gate_.bodies_.erase(*std::exchange(place_, std::nullopt));
        sink_->on_fault(broken_off);
        source_.resume();
    }

  private:
    DoorGate& gate_;
    const std::unique_ptr<net::BodySink> sink_;
    net::BodySource& source_;
    std::optional<std::list<Body*>::iterator> place_;  // none: broken off
};

DoorGate::DoorGate(const Origins& origins, std::string why)
    : origins_(origins),
      shapes_({{path_shapes, nullptr}}),
      counts_(shapes_.names()),
      why_closed_(std::move(why)) {}

void DoorGate::count(const net::HttpRequest& request, net::HttpReply& reply) {
    reply.count_as(counts_[shapes_.find(request.method, request.path).number]);
}

DoorGate::~DoorGate() {
    CHECK(bodies_.empty());
}

void DoorGate::open(std::shared_ptr<net::HttpHandler> handler) {
    CHECK(!handler_ && handler);
    handler_ = std::move(handler);
}

void DoorGate::close(std::string why) {
    why_closed_ = std::move(why);
    handler_.reset();
    while (!bodies_.empty()) bodies_.front()->break_off();
}

void DoorGate::refuse_closed(net::HttpReply& reply) const {
    const FileAnswer answer = refuse(503, not_serving, why_closed_);
    reply.send(answer.status, answer.content_type, answer.body, {{"Retry-After", "1"}});
}

void DoorGate::handle(const net::HttpRequest& request, net::HttpReply& reply) {
    count(request, reply);
    reply.add_headers(origins_.headers_for(request));
    if (Origins::is_preflight(request)) return origins_.answer_preflight(request, reply);
    if (!handler_) return refuse_closed(reply);
    handler_->handle(request, reply);
}

bool DoorGate::wants_body(const net::HttpRequest& head, net::HttpReply& reply) {
    const bool is_handled = handler_ && !Origins::is_preflight(head);
    if (!is_handled) return handle(head, reply), false;
    count(head, reply);
    reply.add_headers(origins_.headers_for(head));
    return handler_->wants_body(head, reply);
}

// Also while it is closed: so a large body is refused before it is read.
// The order is that of HttpHandler. NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
bool DoorGate::takes_pieces(std::string_view method, std::string_view target) const {
    return handler_ ? handler_->takes_pieces(method, target) : method == "PUT" || method == "PATCH";
}

std::unique_ptr<net::BodySink> DoorGate::receive(const net::HttpRequest& request,
                                                 net::HttpReply& reply, net::BodySource& source) {
    count(request, reply);
    reply.add_headers(origins_.headers_for(request));
    if (!handler_) {
        refuse_closed(reply);
        return nullptr;
    }
    auto sink = handler_->receive(request, reply, source);
    if (!sink) return nullptr;
    return std::make_unique<Body>(*this, std::move(sink), source);
}

}  // namespace holdfast::doors::hengdang
