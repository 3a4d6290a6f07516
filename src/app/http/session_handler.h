#pragma once

// SessionHandler: the clients that are connected or logged in, for operators.
//
//     GET    /v1/sessions?after=&limit=   the connections of dflockd's clients, then the logins at
//                                         the file door
//     DELETE /v1/sessions/{id}            ends a session, its leases and its waits; needs the
//                                         admin token
//
// Thread safety: one handler per loop.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/http/json_replies.h"
#include "doors/hengdang/hengdang_door.h"
#include "net/loop/event_loop.h"
#include "service/ports/clock.h"
#include "service/ports/port.h"

namespace holdfast::app {

class SessionHandler final : public JsonHandler {
  public:
    // All of them outlive the handler and the last turn of the loop.
    struct Parts {
        service::Port& port;
        net::EventLoop& loop;
        const service::Clock& clock;
        // Of this loop. Null: there is no file door, or it is closed.
        const std::shared_ptr<doors::hengdang::HengdangDoor>& files;
    };

    explicit SessionHandler(const Parts& parts) : parts_(parts) {}

    [[nodiscard]] static std::span<const net::Route> routes();

    void handle(const net::RoutedRequest& request, net::HttpReply& reply) override;

  private:
    void list(const net::HttpRequest& request, net::HttpReply& reply);
    [[nodiscard]] std::string list_text(const service::Response& response, std::size_t limit) const;
    void end(const net::RoutedRequest& request, net::HttpReply& reply);
    void end_connection(core::SessionId session, std::string_view by, net::HttpReply& reply);
    void end_login(std::string name, std::string by, net::HttpReply& reply);

    const Parts parts_;
};

}  // namespace holdfast::app
