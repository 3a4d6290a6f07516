#include "doors/scoped/scoped_request.h"

#include <gmock/gmock.h>

#include "doors/scoped/scoped_handler.h"

namespace holdfast::doors::scoped {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const std::string token_text = "000000000000002a00000000000000ff";
const core::Token token{.fence = core::Fence{0x2a}, .secret = core::Secret{0xff}};

// Nothing is handled here: the routes alone say what a request asks for.
class Nobody final : public net::RouteHandler {
  public:
    void handle(const net::RoutedRequest& /*request*/, net::HttpReply& /*reply*/) override {}
    void refuse(const net::HttpRequest& /*request*/, const net::RouteRefusal& /*refusal*/,
                net::HttpReply& /*reply*/) override {}
};

tl::expected<ScopedRequest, Fault> parse(std::string_view method, std::string_view target,
                                         std::string_view body = "") {
    static Nobody nobody;
    static const net::RouteTable table{{{ScopedHandler::routes(), &nobody}}};
    const std::size_t mark = target.find('?');
    const std::string_view path = target.substr(0, mark);
    const std::string_view query =
        mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
    const auto match = table.find(method, path);
    if (match.route == nullptr) {
        if (match.allowed_methods.empty()) return tl::unexpected(explain_path(path));
        return tl::unexpected(
            Fault{.status = 405,
                  .code = "MethodNotAllowed",
                  .message = "allowed here: " + std::string(match.allowed_methods)});
    }
    return parse_request(match.route->action.as<Action>(),
                         {.name = match.parameter, .query = query, .body = body},
                         {.default_duration = 30s, .duration_max = 60s});
}

template <class Request>
Request read(std::string_view method, std::string_view target, std::string_view body = "") {
    const auto parsed = parse(method, target, body);
    if (!parsed) {
        ADD_FAILURE() << target << ": " << parsed.error().message;
        return {};
    }
    const auto* const request = std::get_if<Request>(&*parsed);
    if (request == nullptr) {
        ADD_FAILURE() << target << " is something else";
        return {};
    }
    return *request;
}

// `400 BadRequest: holder required`.
std::string fault(std::string_view method, std::string_view target, std::string_view body = "") {
    const auto parsed = parse(method, target, body);
    if (parsed) return "none";
    return std::to_string(parsed.error().status) + " " + std::string(parsed.error().code) + ": " +
           parsed.error().message;
}

TEST(ScopedRequest, AcquireHasDefaults) {
    const auto request =
        read<Acquire>("POST", "/v1/leases", R"({"scope":"range:7:0-4096","holder":"w1"})");
    EXPECT_EQ(request.scope.view(), core::Scope::of_range(7, {0, 4096}));
    EXPECT_EQ(request.holder, "w1");
    EXPECT_EQ(request.duration, 30s);
    EXPECT_EQ(request.wait, 0s);
    EXPECT_EQ(request.mode, core::Mode::exclusive);
    EXPECT_EQ(request.request_id, "");
    EXPECT_EQ(request.metadata, "");
}

TEST(ScopedRequest, AcquireReadsEveryField) {
    const auto request = read<Acquire>(
        "POST", "/v1/leases",
        R"({"scope":{"kind":"path","path":"/a"},"holder":"w1","duration_ms":60000,"wait_ms":600000,)"
        R"("mode":"shared","request_id":"q","metadata":"m"})");
    EXPECT_EQ(request.scope.view(), core::Scope::path("/a"));
    EXPECT_EQ(request.duration, 60s);
    EXPECT_EQ(request.wait, 600s);
    EXPECT_EQ(request.mode, core::Mode::shared);
    EXPECT_EQ(request.request_id, "q");
    EXPECT_EQ(request.metadata, "m");
}

TEST(ScopedRequest, AcquireNamesTheFault) {
    const std::pair<const char*, const char*> rows[] = {
        {"", "the body is empty; a JSON object is expected"},
        {"[]", "the body must be a JSON object"},
        {R"({"holder":"w1"})", "scope required"},
        {R"({"scope":7,"holder":"w1"})", "scope must be a string or an object"},
        {R"({"scope":"range:7:9-5","holder":"w1"})", "its start less than its end"},
        {R"({"scope":"inode:7"})", "holder required"},
        {R"({"scope":"inode:7","holder":7})", "holder must be a string"},
        {R"({"scope":"inode:7","holder":"w1","duration_ms":0})",
         "duration_ms must be in [1, 60000]: a lease lasts for 1m at most here, and can be "
         "renewed"},
        {R"({"scope":"inode:7","holder":"w1","duration_ms":-5})",
         "duration_ms must be in [1, 60000]: a lease lasts for 1m at most here, and can be "
         "renewed"},
        {R"({"scope":"inode:7","holder":"w1","duration_ms":60001})",
         "duration_ms must be in [1, 60000]: a lease lasts for 1m at most here, and can be "
         "renewed"},
        {R"({"scope":"inode:7","holder":"w1","duration_ms":"30s"})",
         "duration_ms must be a whole number"},
        {R"({"scope":"inode:7","holder":"w1","wait_ms":-1})", "wait_ms must not be negative"},
        {R"({"scope":"inode:7","holder":"w1","wait_ms":600001})",
         "wait_ms must be in [0, 600000]; a longer wait needs a request_id"},
        {R"({"scope":"inode:7","holder":"w1","mode":"both"})", "mode must be exclusive or shared"},
        {R"({"scope":"inode:7","holder":"w1","ttl":5})", "unknown field \"ttl\""},
    };
    for (const auto& [body, message] : rows) {
        const std::string seen = fault("POST", "/v1/leases", body);
        EXPECT_THAT(seen, HasSubstr("400 BadRequest: ")) << body;
        EXPECT_THAT(seen, HasSubstr(message)) << body;
    }
}

TEST(ScopedRequest, AcquireReadsSeveralScopes) {
    const auto request = read<Acquire>(
        "POST", "/v1/leases",
        R"({"scopes":["a",{"scope":"path:/x","mode":"exclusive"},{"scope":{"kind":"inode",)"
        R"("inode":7}},{"scope":"semaphore:s","mode":"exclusive","limit":3}],"mode":"shared",)"
        R"("holder":"w1","waiter":"t1","on_deadlock":"refuse"})");
    ASSERT_EQ(request.members.size(), 4U);
    const core::SetMember expected[] = {
        {.scope = core::Scope::named("a"), .mode = core::Mode::shared},
        {.scope = core::Scope::path("/x")},
        {.scope = core::Scope::of_inode(7), .mode = core::Mode::shared},
        {.scope = core::Scope::semaphore("s"), .limit = 3}};
    for (std::size_t index = 0; index < request.members.size(); ++index) {
        EXPECT_EQ(request.members[index].view(), expected[index]) << index;
    }
    EXPECT_EQ(request.scope.view(), core::Scope::named("a"));
    EXPECT_EQ(request.mode, core::Mode::shared);
    EXPECT_EQ(request.waiter, "t1");
    EXPECT_TRUE(request.refuses_deadlock);
}

TEST(ScopedRequest, OneElementOfScopesIsAUsualLease) {
    const auto request = read<Acquire>(
        "POST", "/v1/leases", R"({"scopes":[{"scope":"semaphore:s","limit":3}],"holder":"w1"})");
    EXPECT_TRUE(request.members.empty());
    EXPECT_EQ(request.scope.view(), core::Scope::semaphore("s"));
    EXPECT_EQ(request.limit, 3U);
    EXPECT_EQ(request.waiter, "");
    EXPECT_FALSE(request.refuses_deadlock);
}

TEST(ScopedRequest, SeveralScopesNameTheFault) {
    const std::pair<const char*, const char*> rows[] = {
        {R"("scope":"a","scopes":["b"])", "give scope or scopes, not both"},
        {R"("scopes":[])", "scope required"},
        {R"("scopes":"a")", "scopes must be a list of strings and objects"},
        {R"("scopes":["a",7])", "scopes must be a list of strings and objects"},
        {R"("scopes":["a",""])", "scopes[1]: scope required"},
        {R"("scopes":["a",{}])", "scopes[1]: scope required"},
        {R"("scopes":["a","inode:x"])", "scopes[1]: an inode is written inode:<number>"},
        {R"("scopes":["a",{"scope":"b","mode":"both"}])",
         "scopes[1]: mode must be exclusive or shared"},
        {R"("scopes":["a",{"scope":"b","limit":2}])", "scopes[1]: a limit is for semaphores"},
        {R"("scopes":["a","semaphore:b"])", "scopes[1]: a semaphore needs a limit"},
        {R"("scopes":["a",{"scope":"semaphore:b","limit":2}],"mode":"shared")",
         "scopes[1]: a semaphore cannot be shared"},
        {R"("scopes":["a",{"kind":"named","name":"b"}])", "scopes[1]: unknown field \"kind\""},
        {R"("scopes":["a","b"],"limit":2)", "each element of scopes has a limit of its own"},
        {R"("scopes":["a","b","a"])", "scopes must not overlap: a and a do"},
        {R"("scopes":["inode:7","range:7:0-9"])",
         "scopes must not overlap: inode:7 and range:7:0-9 do"},
        {R"("scopes":["range:7:0-9","x","range:7:8-"])",
         "scopes must not overlap: range:7:0-9 and range:7:8- do"},
        {R"("scopes":["a",{"scope":"semaphore:a","limit":2}])",
         "scopes must not overlap: a and semaphore:a do"},
        {R"("scope":"a","on_deadlock":"wait")", "on_deadlock must be tell or refuse"},
    };
    for (const auto& [fields, message] : rows) {
        const std::string body = R"({"holder":"w1",)" + std::string(fields) + "}";
        EXPECT_THAT(fault("POST", "/v1/leases", body),
                    HasSubstr(std::string("400 BadRequest: ") + message))
            << body;
    }
    EXPECT_EQ(fault("POST", "/v1/leases",
                    R"({"holder":"w1","scopes":["range:7:0-9","range:7:9-12","inode:8","path:7",)"
                    R"("7","path:/x"]})"),
              "none");
}

TEST(ScopedRequest, ThereMayBeSixtyFourScopes) {
    const auto body_of = [](int count) {
        std::string body = R"({"holder":"w1","scopes":["0")";
        for (int index = 1; index < count; ++index) {
            body += ",\"" + std::to_string(index) + "\"";
        }
        return body + "]}";
    };
    EXPECT_EQ(read<Acquire>("POST", "/v1/leases", body_of(64)).members.size(), 64U);
    EXPECT_EQ(fault("POST", "/v1/leases", body_of(65)),
              "400 BadRequest: scopes may have 64 elements at most, not 65");
}

// In a cluster all of them are in one value of etcd.
TEST(ScopedRequest, TheNamesOfASetAreBoundedTogether) {
    const auto body_of = [](int count, std::size_t bytes) {
        std::string body = R"({"holder":"w1","scopes":[)";
        for (int index = 0; index < count; ++index) {
            std::string name = std::to_string(index);
            name.resize(bytes, 'x');
            body += (index == 0 ? "\"" : ",\"") + name + "\"";
        }
        return body + "]}";
    };
    EXPECT_EQ(read<Acquire>("POST", "/v1/leases", body_of(16, 4096)).members.size(), 16U);
    EXPECT_EQ(fault("POST", "/v1/leases", body_of(17, 4096)),
              "400 BadRequest: the names in scopes may have 65536 bytes together, at most");
}

TEST(ScopedRequest, EveryBeginningOfABodyIsRefused) {
    const std::string whole =
        R"({"scope":{"kind":"range","inode":7,"start":0,"end":9},"holder":"w","wait_ms":5})";
    EXPECT_EQ(fault("POST", "/v1/leases", whole), "none");
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_NE(fault("POST", "/v1/leases", whole.substr(0, size)), "none") << size;
    }
}

TEST(ScopedRequest, LeasesAreKnownByTheirToken) {
    const std::string path = "/v1/leases/" + token_text;
    EXPECT_EQ(read<Look>("GET", path).token, token);
    EXPECT_EQ(read<Look>("HEAD", path).token, token);
    EXPECT_EQ(read<Release>("DELETE", path).token, token);
    EXPECT_EQ(read<Renew>("POST", path + "/renew").token, token);
    EXPECT_EQ(read<Renew>("POST", path + "/renew").duration, std::nullopt);
    EXPECT_EQ(read<Renew>("POST", path + "/renew", "{}").duration, std::nullopt);
    EXPECT_EQ(read<Renew>("POST", path + "/renew", R"({"duration_ms":5})").duration, 5ms);
    EXPECT_EQ(read<Look>("GET", "/v1/leases/nonsense").token, core::Token{});
    EXPECT_EQ(fault("POST", path + "/renew", R"({"duration_ms":60001})"),
              "400 BadRequest: duration_ms must be in [1, 60000]: a lease lasts for 1m at most "
              "here, and can be "
              "renewed");
    EXPECT_EQ(fault("POST", path + "/renew", "{"),
              "400 BadRequest: the body is not valid JSON: its object has no end, or something "
              "follows it");
}

TEST(ScopedRequest, ListsHaveFilters) {
    const auto plain = read<ListLeases>("GET", "/v1/leases");
    EXPECT_FALSE(plain.kind || plain.on);
    EXPECT_EQ(plain.limit, 100U);
    const auto request = read<ListLeases>(
        "GET", "/v1/leases?kind=range&holder=w%201&inode=7&path=&limit=5&after=99");
    EXPECT_EQ(request.kind, core::ScopeKind::range);
    EXPECT_EQ(request.holder, "w 1");
    EXPECT_EQ(request.on->view(), core::Scope::of_inode(7));
    EXPECT_EQ(request.limit, 5U);
    EXPECT_EQ(request.after, core::Fence{99});
    EXPECT_EQ(read<ListLeases>("GET", "/v1/leases?path=%2Fa").on->view(), core::Scope::path("/a"));
    const std::pair<const char*, const char*> rows[] = {
        {"kind=file", "kind must be named, semaphore, path, inode or range"},
        {"inode=-7", "inode must be a whole number that is not negative"},
        {"inode=7&path=/a", "inode and path exclude one another"},
        {"limit=0", "limit must be in [1, 1000]"},
        {"limit=1001", "limit must be in [1, 1000]"},
        {"after=yesterday", "after must be the `next` of an earlier page"},
    };
    for (const auto& [query, message] : rows) {
        EXPECT_EQ(fault("GET", std::string("/v1/leases?") + query),
                  std::string("400 BadRequest: ") + message);
    }
    EXPECT_THAT(fault("GET", "/v1/leases?holder=%zz"), HasSubstr("400 BadRequest: "));
}

TEST(ScopedRequest, ChecksHaveATokenAndAScope) {
    const auto request =
        read<CheckToken>("POST", "/v1/fence/check",
                         R"({"token":"000000000000002a00000000000000ff","scope":"inode:7"})");
    EXPECT_EQ(request.token, token);
    EXPECT_EQ(request.scope.view(), core::Scope::of_inode(7));
    EXPECT_EQ(
        read<CheckToken>("POST", "/v1/fence/check", R"({"token":"x","scope":"inode:7"})").token,
        core::Token{});
    EXPECT_EQ(fault("POST", "/v1/fence/check", R"({"scope":"inode:7"})"),
              "400 BadRequest: token required");
    EXPECT_EQ(fault("POST", "/v1/fence/check", R"({"token":"x"})"),
              "400 BadRequest: scope required");
}

// A number for a resource of this name would be one for no resource at all.
TEST(ScopedRequest, NoResourceIsCalledCheck) {
    EXPECT_EQ(fault("POST", "/v1/fence/check", R"({"fencing_token":7})"),
              "400 BadRequest: unknown field \"fencing_token\" (this checks a token; a resource "
              "cannot be called check)");
    EXPECT_EQ(fault("POST", "/v1/fence/%63heck", R"({"fencing_token":7})"),
              fault("POST", "/v1/fence/check", R"({"fencing_token":7})"));
    EXPECT_EQ(fault("GET", "/v1/fence/check"), "405 MethodNotAllowed: allowed here: POST");
    EXPECT_EQ(fault("DELETE", "/v1/fence/chec%6B"),
              "400 BadRequest: a resource cannot be called check");
}

TEST(ScopedRequest, FencesAreKnownByTheirResource) {
    const auto raise = read<RaiseFence>("POST", "/v1/fence/s3%3A%2F%2Fb%2Fk",
                                        R"({"fencing_token":9007199254740991})");
    EXPECT_EQ(raise.resource, "s3://b/k");
    EXPECT_EQ(raise.fence, core::fence_max);
    EXPECT_EQ(read<ReadFence>("GET", "/v1/fence/a+b").resource, "a+b");
    EXPECT_EQ(read<DropFence>("DELETE", "/v1/fence/a%20b").resource, "a b");
    const std::pair<const char*, const char*> rows[] = {
        {"{}", "400 BadRequest: fencing_token required"},
        {R"({"fencing_token":0})",
         "400 BadRequest: fencing_token must be in [1, 9007199254740991]"},
        {R"({"fencing_token":-1})",
         "400 BadRequest: fencing_token must be in [1, 9007199254740991]"},
        {R"({"fencing_token":9007199254740992})",
         "400 BadRequest: fencing_token must be in [1, 9007199254740991]"},
        {R"({"fencing_token":"7"})", "400 BadRequest: fencing_token must be a whole number"},
        {R"({"token":"7"})", "400 BadRequest: unknown field \"token\""},
    };
    for (const auto& [body, seen] : rows) EXPECT_EQ(fault("POST", "/v1/fence/r", body), seen);
    EXPECT_EQ(fault("POST", "/v1/fence/"), "400 BadRequest: resource required");
    EXPECT_THAT(fault("GET", "/v1/fence/%z"), HasSubstr("400 BadRequest: "));
}

TEST(ScopedRequest, OtherPathsAndMethodsAreRefused) {
    EXPECT_THAT(fault("GET", "/v1/fence"), HasSubstr("404 NotFound: "));
    EXPECT_THAT(fault("GET", "/v1/fence/a/b"), HasSubstr("404 NotFound: "));
    EXPECT_THAT(fault("GET", "/v1/leases/"), HasSubstr("404 NotFound: "));
    EXPECT_THAT(fault("POST", "/v1/leases/x/steal"), HasSubstr("404 NotFound: "));
    EXPECT_THAT(fault("POST", "/v1/leases/x/renew/now"), HasSubstr("404 NotFound: "));
    EXPECT_EQ(fault("PUT", "/v1/leases"), "405 MethodNotAllowed: allowed here: GET, HEAD, POST");
    EXPECT_EQ(fault("POST", "/v1/leases/x"),
              "405 MethodNotAllowed: allowed here: GET, HEAD, DELETE");
    EXPECT_EQ(fault("GET", "/v1/leases/x/renew"), "405 MethodNotAllowed: allowed here: POST");
    EXPECT_EQ(fault("PUT", "/v1/fence/x"),
              "405 MethodNotAllowed: allowed here: GET, HEAD, POST, DELETE");
}

TEST(ScopedRequest, AcquireMayHaveAValue) {
    const auto request =
        read<Acquire>("POST", "/v1/leases", R"({"scope":"x","holder":"w1","value":"10.0.0.1"})");
    EXPECT_EQ(request.value, "10.0.0.1");
}

TEST(ScopedRequest, SetValueHasATokenAndAText) {
    const std::string path = "/v1/leases/" + token_text + "/value";
    const auto request = read<SetValue>("PUT", path, R"({"value":"v"})");
    EXPECT_EQ(request.token, token);
    EXPECT_EQ(request.value, "v");
    EXPECT_EQ(read<SetValue>("PUT", path, R"({"value":""})").value, "") << "takes it away";
    EXPECT_THAT(fault("PUT", path, R"({"value":{}})"), HasSubstr("value required"));
    EXPECT_THAT(fault("PUT", path, R"({"value":7})"), HasSubstr("400 BadRequest"));
    EXPECT_THAT(fault("PUT", path, ""), HasSubstr("400 BadRequest"));
}

TEST(ScopedRequest, LookAtElectionReadsEveryParameter) {
    const auto look = read<LookAtElection>("GET", "/v1/elections/a%2Fb");
    EXPECT_EQ(look.name, "a/b");
    EXPECT_FALSE(look.is_watch);
    EXPECT_FALSE(look.is_stream);
    const auto watch =
        read<LookAtElection>("GET", "/v1/elections/x?watch=true&after=17&wait_ms=5000");
    EXPECT_TRUE(watch.is_watch);
    EXPECT_EQ(watch.after, 17U);
    EXPECT_EQ(watch.wait, 5s);
    EXPECT_EQ(read<LookAtElection>("GET", "/v1/elections/x?watch=true").wait, 60s);
    EXPECT_FALSE(read<LookAtElection>("GET", "/v1/elections/x?watch=false&after=").after);
    for (const char* const query :
         {"watch=maybe", "watch=true&after=x", "wait_ms=-1", "wait_ms=600001"}) {
        EXPECT_THAT(fault("GET", "/v1/elections/x?" + std::string(query)),
                    HasSubstr("400 BadRequest"))
            << query;
    }
    EXPECT_THAT(fault("POST", "/v1/elections/x"), HasSubstr("405"));
    EXPECT_THAT(fault("GET", "/v1/elections/"), HasSubstr("404"));
}

TEST(ScopedRequest, OnlyAWatchIsAStream) {
    const auto is_stream = [](std::string_view query, std::string_view accept) {
        const auto parsed = parse_request(
            Action::look_at_election, {.name = "x", .query = query, .body = "", .accept = accept},
            ScopedOptions{});
        return std::get<LookAtElection>(*parsed).is_stream;
    };
    EXPECT_TRUE(is_stream("watch=true", "text/event-stream"));
    EXPECT_TRUE(is_stream("watch=true", "application/json, text/event-stream;q=0.9"));
    EXPECT_FALSE(is_stream("watch=true", "application/json"));
    EXPECT_FALSE(is_stream("", "text/event-stream"));
}

}  // namespace
}  // namespace holdfast::doors::scoped
