// The routes of the server: what the table says is what a client gets, and what openapi.json says.

#include "app/http/http_router.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "app/http/documents.h"
#include "app/http/json_replies.h"
#include "base/crypto.h"
#include "base/json/json_value.h"
#include "net/loop/test_channel.h"

namespace holdfast::app {
namespace {

using net::Privilege;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Stands for all handlers: says for which operation it was called.
class Handler final : public net::RouteHandler {
  public:
    void handle(const net::RoutedRequest& request, net::HttpReply& reply) override {
        reply.send(200, "", "for " + std::string(request.route.operation));
    }
    std::unique_ptr<net::BodySink> receive(const net::RoutedRequest& request, net::HttpReply& reply,
                                           net::BodySource& /*source*/) override {
        handle(request, reply);
        return nullptr;
    }
    void refuse(const net::HttpRequest& /*request*/, const net::RouteRefusal& refusal,
                net::HttpReply& reply) override {
        refuse_as_json(refusal, reply);
    }
};

// One method of a route: `GET /v1/locks/{lock}`.
struct Operation {
    std::string method;
    const net::Route& route;

    // A path that this route serves.
    [[nodiscard]] std::string path() const {
        const std::string pattern(route.pattern);
        const std::size_t begin = pattern.find('{'), end = pattern.find('}');
        if (begin == std::string::npos) return pattern;
        return pattern.substr(0, begin) + "x" + pattern.substr(end + 1);
    }
};

class HttpRouterTest : public ::testing::Test {
  protected:
    std::vector<Operation> operations() {
        std::vector<Operation> all;
        for (const net::RouteGroup& group : groups_) {
            for (const net::Route& route : group.routes) {
                const std::string methods(route.methods);
                const std::size_t comma = methods.find(", ");
                all.push_back({methods.substr(0, comma), route});
                if (comma != std::string::npos) all.push_back({methods.substr(comma + 2), route});
            }
        }
        return all;
    }

    // The status of the answer to a client with this token, or with none.
    int ask(const std::string& method, const std::string& path, const std::string& token) {
        answer_ = full_answer(method + " " + path, token);
        return std::stoi(answer_.substr(9, 3));
    }
    std::string full_answer(const std::string& line, const std::string& token) {
        channel_.feed(protocol_,
                      line + " HTTP/1.1\r\nHost: localhost\r\n" +
                          (token.empty() ? "" : "Authorization: Bearer " + token + "\r\n") +
                          "\r\n");
        return channel_.take();
    }

    Handler all_;
    const HttpHandlers handlers_{all_, all_, all_, all_, all_, all_, all_, all_, all_, all_};
    const std::vector<net::RouteGroup> groups_ = http_routes(handlers_);
    TokenSource tokens_{{.auth = "user", .admin = "root"}};
    const HostNames names_{{}};
    HttpRouter router_{http_routes(handlers_), HttpGate(tokens_, names_)};
    net::HttpLimits limits_;
    net::TestChannel channel_;
    net::HttpProtocol protocol_{channel_, router_, limits_};
    std::string answer_;
};

// What the description calls the privilege; empty for none.
std::string_view right_of(Privilege privilege) {
    switch (privilege) {
        case Privilege::none: break;
        case Privilege::read: return "read";
        case Privilege::lock: return "lock";
        case Privilege::administer: return "admin";
    }
    return "";
}

// The status that the table promises to a client with that privilege.
int promised(const net::Route& route, Privilege privilege) {
    if (privilege >= route.needs) return 200;
    return privilege == Privilege::none ? 401 : 403;
}

TEST_F(HttpRouterTest, GivesEveryClientWhatTheTablePromises) {
    const std::pair<Privilege, std::string> clients[] = {{Privilege::none, ""},
                                                         {Privilege::none, "wrong"},
                                                         {Privilege::lock, "user"},
                                                         {Privilege::administer, "root"}};
    for (const Operation& operation : operations()) {
        for (const auto& [privilege, token] : clients) {
            const int status = ask(operation.method, operation.path(), token);
            EXPECT_EQ(status, promised(operation.route, privilege))
                << operation.method << " " << operation.path() << " with " << token;
            if (status == 200 && operation.method != "HEAD") {
                EXPECT_THAT(answer_, HasSubstr("for " + std::string(operation.route.operation)));
            }
            if (status == 403) {
                EXPECT_FALSE(operation.route.refusal.empty()) << operation.route.pattern;
                EXPECT_THAT(answer_, AllOf(HasSubstr(std::string(operation.route.refusal)),
                                           HasSubstr(R"("right":"admin","on":"*"})")));
            }
        }
    }
}

// A token of a file with the name as its secret.
rights::TokenLine line_of(std::string_view name, const std::vector<std::string_view>& rights) {
    return {.name = std::string(name),
            .grants = rights::Grants::parse(rights).value(),
            .digest = base::sha256(name)};
}

TEST_F(HttpRouterTest, GivesClientsWithLimitsWhatTheTablePromises) {
    tokens_.replace(
        {.lines = std::vector{line_of("reader", {"read", "x"}), line_of("locker", {"lock", "x"}),
                              line_of("ruler", {"admin", "x"}), line_of("all", {"admin", "*"}),
                              line_of("elsewhere", {"admin", "*", "@redis"})}});
    const std::pair<Privilege, std::string> clients[] = {{Privilege::none, "elsewhere"},
                                                         {Privilege::read, "reader"},
                                                         {Privilege::lock, "locker"},
                                                         {Privilege::administer, "ruler"}};
    for (const Operation& operation : operations()) {
        const net::Route& route = operation.route;
        EXPECT_EQ(ask(operation.method, operation.path(), "all"), 200);
        for (const auto& [privilege, token] : clients) {
            const bool is_asked = route.reach != net::Reach::everything;
            const bool may_pass =
                route.needs == Privilege::none || (is_asked && privilege >= route.needs);
            EXPECT_EQ(ask(operation.method, operation.path(), token), may_pass ? 200 : 403)
                << operation.method << " " << operation.path() << " with " << token;
            if (!may_pass && operation.method != "HEAD") {
                EXPECT_THAT(answer_, HasSubstr(R"("on":"*"})")) << operation.path();
            }
        }
    }
    EXPECT_GT(tokens_.current()->find("reader")->denials(rights::Right::lock), 0U);
}

// A handler behind any other route does not ask what a client may see, so that clients with limits must
// not reach it. Whoever adds a line here has seen to that.
TEST_F(HttpRouterTest, LetsClientsWithLimitsReachOnlyTheseRoutes) {
    std::set<std::string> asked, for_all;
    for (const Operation& operation : operations()) {
        const std::string name = operation.method + " " + std::string(operation.route.pattern);
        if (operation.method == "HEAD" || operation.route.needs == Privilege::none) continue;
        if (operation.route.reach == net::Reach::asked) asked.insert(name);
        if (operation.route.reach == net::Reach::anything) for_all.insert(name);
    }
    EXPECT_THAT(asked,
                ::testing::ElementsAre(
                    "DELETE /lock", "DELETE /v1/fence/{resource}", "DELETE /v1/leases/{token}",
                    "DELETE /v1/locks/{lock}", "DELETE /v1/terraform/{name}",
                    "DELETE /v1/terraform/{name}/lock", "GET /lock", "GET /v1/deadlocks",
                    "GET /v1/elections/{name}", "GET /v1/events", "GET /v1/fence/{resource}",
                    "GET /v1/history", "GET /v1/leases", "GET /v1/leases/{token}", "GET /v1/locks",
                    "GET /v1/locks/{lock}", "GET /v1/status", "GET /v1/terraform",
                    "GET /v1/terraform/{name}", "GET /v1/terraform/{name}/versions",
                    "LOCK /v1/terraform/{name}", "POST /lock", "POST /v1/fence/check",
                    "POST /v1/fence/{resource}", "POST /v1/leases", "POST /v1/leases/{token}/renew",
                    "POST /v1/locks/{lock}/acquire", "POST /v1/locks/{lock}/release",
                    "POST /v1/locks/{lock}/renew", "POST /v1/terraform/{name}",
                    "POST /v1/terraform/{name}/lock", "POST /v1/terraform/{name}/rollback",
                    "PUT /v1/leases/{token}/value", "UNLOCK /v1/terraform/{name}"));
    EXPECT_THAT(for_all, ::testing::ElementsAre("GET /openapi.json"));
}

TEST_F(HttpRouterTest, LetsOnlyTheseRoutesPassWithoutAToken) {
    std::set<std::string> open, for_admins;
    for (const Operation& operation : operations()) {
        const std::string name = operation.method + " " + std::string(operation.route.pattern);
        if (operation.route.needs == Privilege::none) open.insert(name);
        if (operation.route.needs == Privilege::administer) for_admins.insert(name);
    }
    EXPECT_THAT(open, ::testing::ElementsAre("GET /", "GET /healthz", "GET /readyz",
                                             "GET /ui/{file...}", "HEAD /", "HEAD /healthz",
                                             "HEAD /readyz", "HEAD /ui/{file...}"));
    EXPECT_THAT(for_admins,
                ::testing::ElementsAre("DELETE /v1/fence/{resource}", "DELETE /v1/locks/{lock}",
                                       "DELETE /v1/sessions/{id}", "GET /v1/backup",
                                       "POST /v1/cluster/new-epoch", "POST /v1/cluster/resign"));
}

TEST_F(HttpRouterTest, RefusesOtherMethodsAndPaths) {
    for (const Operation& operation : operations()) {
        for (const char* method : {"PATCH", "OPTIONS", "TRACE", "get"}) {
            const std::string line = std::string(method) + " " + operation.path();
            EXPECT_THAT(
                full_answer(line, "user"),
                AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr(std::string(operation.route.methods))))
                << line;
            EXPECT_THAT(full_answer(line, ""), StartsWith("HTTP/1.1 401 ")) << line;
        }
    }
    for (const char* path : {"/nowhere", "/lock/", "/healthz/", "/v1", "/v1/", "//",
                             "/v1/sessions/", "/v1/sessions/a/b", "/ui", "/v1/locks/x/steal"}) {
        EXPECT_EQ(ask("GET", path, "user"), 404) << path;
        EXPECT_THAT(answer_, HasSubstr(R"({"error":"no such path; )")) << path;
        EXPECT_EQ(ask("GET", path, ""), 401) << path;
    }
}

TEST_F(HttpRouterTest, HasTheRoutesThatTheOpenapiDocumentDescribes) {
    const auto document = base::JsonValue::parse(openapi_json()).value();
    std::map<std::string, const base::JsonValue*> described;
    for (const auto& [path, item] : document["paths"].fields()) {
        for (const char* method : {"get", "head", "post", "put", "patch", "delete", "options"}) {
            if (!item[method].is_object()) continue;
            std::string name(method);
            for (char& letter : name) letter = static_cast<char>(letter - 'a' + 'A');
            described[name + " " + path] = &item[method];
        }
    }
    for (const Operation& operation : operations()) {
        const net::Route& route = operation.route;
        const std::string name = operation.method + " " + std::string(route.pattern);
        const auto found = described.find(name);
        if (found == described.end()) {
            const bool is_head = operation.method == "HEAD";  // described with GET
            const bool is_dashboard = route.operation.empty() && route.needs == Privilege::none;
            // OpenAPI knows no other methods than those above.
            const bool has_no_word = operation.method == "LOCK" || operation.method == "UNLOCK";
            EXPECT_TRUE(is_head || is_dashboard || has_no_word) << name << " is not described";
            continue;
        }
        const base::JsonValue& description = *found->second;
        EXPECT_EQ(description["operationId"].text(), route.operation) << name;
        EXPECT_EQ(description["requestBody"].is_object(), route.body != net::BodyPolicy::ignored)
            << name;
        EXPECT_EQ(description["security"].is_array(), route.needs == Privilege::none) << name;
        EXPECT_EQ(description["responses"]["401"].is_object(), route.needs != Privilege::none)
            << name;
        EXPECT_EQ(description["x-right"].text(), right_of(route.needs)) << name;
        if (route.needs == Privilege::administer) {
            EXPECT_TRUE(description["responses"]["403"].is_object()) << name;
        }
        described.erase(found);
    }
    for (const auto& [name, description] : described) ADD_FAILURE() << name << " has no route";
}

}  // namespace
}  // namespace holdfast::app
