#pragma once

// Routes: every method and path that a server answers to, each declared once.
//
// A handler declares its routes as data (Route) and RouteTable finds the route of a request. What
// follows from the table is decided in one place, by the code that calls find():
//
//     the path has no route                           404, in the words of the handler whose paths
//                                                     begin alike
//     the path has routes, but not for this method    405 with `Allow`; OPTIONS is such a method
//     the client has less than the route needs        401 or 403
//
// A pattern is literal text, except that one of its segments may be a parameter: `{lock}` stands
// for one segment that is not empty; `{file...}`, at the end, for the rest of the path, which may
// be empty. Where a literal pattern and one with a parameter both match, the literal one wins.
//
// Thread safety: a RouteTable does not change; find() may be called from any thread.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/http/http_body.h"
#include "net/http/http_message.h"
#include "net/http/http_reply.h"
#include "net/http/request_counts.h"

// Who a client is and what it may do: src/net only passes it on.
namespace holdfast::rights {
class Token;
struct Denial;
}  // namespace holdfast::rights

namespace holdfast::net {

// What a client may do. Each includes those before it.
enum class Privilege : std::uint8_t { none, read, lock, administer };

// What a client needs the privilege for. A client may have it for some things only.
enum class Reach : std::uint8_t {
    everything,  // for all there is: the caller of find() checks that
    asked,       // for what the request is about: the handler asks, or shows only what may be seen
    anything,    // for whatever it is: the answer tells nothing of anybody's things
};

// What becomes of the body of a request.
enum class BodyPolicy : std::uint8_t {
    ignored,  // read, so that the next request is found, and not looked at
    whole,    // handed over at once; larger ones than HttpLimits::body_bytes_max are refused
    pieces,   // may have any size: RouteHandler::receive() is called instead of handle()
};

// Which of its routes a handler is called for: an enumerator of the handler's own.
class RouteAction {
  public:
    constexpr RouteAction() = default;
    template <class Action>
    constexpr RouteAction(Action action)  // NOLINT(google-explicit-constructor): for tables
        : number_(static_cast<std::uint8_t>(action)) {}
    // REQUIRES: it was made of an enumerator of this type.
    template <class Action>
    [[nodiscard]] constexpr Action as() const {
        return static_cast<Action>(number_);
    }

  private:
    std::uint8_t number_ = 0;
};

// One line of the table. A route that does not say what it needs is for administrators only, and one
// that does not say how far that reaches is for clients with the privilege for everything.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order in which a line reads
struct Route {
    std::string_view methods = {};  // `POST`, or `GET, HEAD` where both are served alike
    std::string_view pattern = {};  // `/v1/locks/{lock}/acquire`
    Privilege needs = Privilege::administer;
    BodyPolicy body = BodyPolicy::ignored;
    std::string_view operation = {};  // the operationId in openapi.json; empty: not described there
    RouteAction action = {};
    Reach reach = Reach::everything;
    std::string_view refusal = {};  // tells a client that is no administrator why it is refused
};

// A request that has a route and whose client has the privilege that the route needs. If the route
// says Reach::asked, the handler has to ask what the client has it for.
struct RoutedRequest {
    const HttpRequest& http;
    const Route& route;
    std::string_view parameter;  // the text in place of the pattern's parameter, not decoded
    Privilege privilege;         // of the client, for everything
    const rights::Token* client = nullptr;  // null: it has no limits but its privilege
    std::string_view by = {};               // who asks, for logs and the history: rights/asker.h

    [[nodiscard]] bool is_admin() const { return privilege == Privilege::administer; }
};

// Why a request is not handled.
struct RouteRefusal {
    int status;                              // 403, 404 or 405
    std::string_view reason = {};            // 403: the refusal of the route, or of the client
    std::string_view allowed_methods = {};   // 405: for the header `Allow`
    const rights::Denial* denial = nullptr;  // 403: the right that the client lacks; may be null
};

// Answers the requests of a group of routes. Called on the thread of the connection's loop.
class RouteHandler {
  public:
    virtual void handle(const RoutedRequest& request, HttpReply& reply) = 0;
    // The same for a route whose body comes in pieces; see HttpHandler::receive().
    [[nodiscard]] virtual std::unique_ptr<BodySink> receive(const RoutedRequest& /*request*/,
                                                            HttpReply& /*reply*/,
                                                            BodySource& /*source*/) {
        return nullptr;
    }
    // Answers, in the words of its protocol, a request that is refused.
    virtual void refuse(const HttpRequest& request, const RouteRefusal& refusal,
                        HttpReply& reply) = 0;

  protected:
    ~RouteHandler() = default;
};

// The routes of one handler, which outlives the table.
struct RouteGroup {
    std::span<const Route> routes;
    RouteHandler* handler;
    bool ignores_trailing_slashes = false;  // `/v1/locks/x//` means `/v1/locks/x`
};

struct RouteMatch {
    RouteHandler* handler = nullptr;        // whose paths begin alike; null: nobody's do
    const Route* route = nullptr;           // null: the request is refused
    std::string_view parameter = {};        // of the path, where the pattern has one
    std::string_view allowed_methods = {};  // of a path that has routes
    std::uint16_t number = 0;               // of the route with this method; 0: there is none
};

class RouteTable {
  public:
    // REQUIRES: every pattern is as described above, and has one of the methods GET, HEAD, POST,
    // PUT, PATCH, DELETE, LOCK and UNLOCK. Patterns with the same text before their parameter are
    // of one group. A pattern whose body comes in pieces has a parameter.
    explicit RouteTable(std::vector<RouteGroup> groups);
    RouteTable(const RouteTable&) = delete;  // its paths point to its groups
    RouteTable& operator=(const RouteTable&) = delete;

    // Never allocates. The parameter points into `path`, the rest into this table.
    [[nodiscard]] RouteMatch find(std::string_view method, std::string_view path) const;

    // Whether the body of a request comes in pieces. Every request asks this before its body is
    // read, so it costs next to nothing for paths that begin differently.
    [[nodiscard]] bool takes_pieces(std::string_view method, std::string_view path) const;

    [[nodiscard]] std::span<const RouteGroup> groups() const { return groups_; }

    // All routes by their numbers: the first has number 1. The names outlive the table.
    [[nodiscard]] const std::vector<RouteName>& names() const { return names_; }

  private:
    static constexpr std::size_t methods_max = 9;  // eight, and all others
    static constexpr std::size_t literal_bytes_max = 32;

    // All routes of one pattern.
    struct Path {
        std::string_view text;  // a literal pattern; or what follows the parameter: `/acquire`
        RouteHandler* handler = nullptr;
        std::array<const Route*, methods_max> routes = {};  // by their method
        std::array<std::uint16_t, methods_max> numbers = {};
        std::string allowed_methods = {};
    };
    // The patterns that begin alike, up to their parameter.
    struct Folder {
        std::string_view text;  // `/v1/locks/`
        const RouteGroup* group;
        bool is_open = false;  // the parameter is the rest of the path
        std::vector<Path> paths = {};
    };

    void add(const RouteGroup& group, const Route& route);
    Folder& folder_of(const RouteGroup& group, std::string_view text);
    [[nodiscard]] static const Path* find_path(const std::vector<Path>& paths,
                                               std::string_view text);
    [[nodiscard]] static RouteMatch find_below(const Folder& folder, std::size_t method,
                                               std::string_view rest);

    std::vector<RouteGroup> groups_;
    std::vector<RouteName> names_;
    std::array<std::vector<Path>, literal_bytes_max + 1> literals_;  // by their size
    std::vector<Folder> folders_;
    std::vector<std::string_view> piece_folders_;  // their texts: with routes that take pieces
};

}  // namespace holdfast::net
