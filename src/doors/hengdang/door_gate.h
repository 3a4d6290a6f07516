#pragma once

// DoorGate: the handler of the file door on one loop, whether the door is open or not.
//
// In a cluster only the node that leads has the files open, so its door opens and closes while
// connections come and go. A connection needs one handler for its whole life: this one. While the
// door is open the gate passes requests to the present handler. While it is closed the gate refuses
// them with 503, Retry-After and the reason.
//
//     state    event      next state, and what happens
//     ------   --------   ------------------------------------------------------------------------
//     closed   open()     open
//     closed   close()    closed, with another reason
//     open     close()    closed: bodies that are still arriving are broken off and answered with
//                         503; whatever else was begun goes on and is answered by its own owner
//
// Thread safety: one gate per loop.
// Lifetime: outlives the connections that it serves.

#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "doors/hengdang/http/origins.h"
#include "net/http/http_protocol.h"
#include "net/http/request_counts.h"
#include "net/http/routes.h"

namespace holdfast::doors::hengdang {

class DoorGate final : public net::HttpHandler {
  public:
    // Closed at first. `why` is a sentence for people, as for close(). The origins outlive the
    // gate: it tells browsers which pages may see the answers, also those of a closed door.
    DoorGate(const Origins& origins, std::string why);
    DoorGate(const DoorGate&) = delete;
    DoorGate& operator=(const DoorGate&) = delete;
    ~DoorGate();

    // REQUIRES: closed; the handler is not null.
    void open(std::shared_ptr<net::HttpHandler> handler);
    void close(std::string why);

    void handle(const net::HttpRequest& request, net::HttpReply& reply) override;
    [[nodiscard]] bool wants_body(const net::HttpRequest& head, net::HttpReply& reply) override;
    [[nodiscard]] bool takes_pieces(std::string_view method,
                                    std::string_view target) const override;
    [[nodiscard]] std::unique_ptr<net::BodySink> receive(const net::HttpRequest& request,
                                                         net::HttpReply& reply,
                                                         net::BodySource& source) override;
    [[nodiscard]] net::RouteCounts* unknown_route() override { return &counts_[0]; }

    // Of all requests. May be read on any thread.
    [[nodiscard]] const net::RequestCounts& counts() const { return counts_; }

  private:
    class Body;

    void count(const net::HttpRequest& request, net::HttpReply& reply);

    void refuse_closed(net::HttpReply& reply) const;

    const Origins& origins_;
    const net::RouteTable shapes_;  // of the paths: as what a request is counted
    net::RequestCounts counts_;
    std::shared_ptr<net::HttpHandler> handler_;  // null: closed
    std::string why_closed_;
    std::list<Body*> bodies_;  // that are arriving
};

}  // namespace holdfast::doors::hengdang
