#pragma once

// SessionHandler: who is connected or logged in, for operators.
//
//     GET    /v1/sessions?after=&limit=   connections of dflockd's clients, then log-ins at the
//     files DELETE /v1/sessions/{id}            ends one, with all it holds and waits for: the
//     admin's
//
// Thread safety: one per loop.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "doors/hengdang/hengdang_door.h"
#include "net/http/http_protocol.h"
#include "net/loop/event_loop.h"
#include "service/ports/clock.h"
#include "service/ports/port.h"

namespace holdfast::app {

class SessionHandler final : public net::HttpHandler {
  public:
    // All of it outlives the handler, and the loop's last turn.
    struct Parts {
        service::Port& port;
        net::EventLoop& loop;
        const service::Clock& clock;
        const std::unique_ptr<doors::hengdang::HengdangDoor>& files;  // null: no such door
    };

    explicit SessionHandler(const Parts& parts) : parts_(parts) {}

    [[nodiscard]] static bool is_session_path(std::string_view path);

    void handle(const net::HttpRequest& request, net::HttpReply& reply) override;

  private:
    void list(const net::HttpRequest& request, net::HttpReply& reply);
    [[nodiscard]] std::string list_text(const service::Response& response, std::size_t limit) const;
    void end(std::string_view id, net::HttpReply& reply);
    void end_connection(core::SessionId session, net::HttpReply& reply);
    void end_login(std::string name, net::HttpReply& reply);

    const Parts parts_;
};

}  // namespace holdfast::app
