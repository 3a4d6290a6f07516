#include "doors/lockserver/lockserver_request.h"

#include <gtest/gtest.h>

#include "doors/lockserver/lockserver_handler.h"

namespace holdfast::doors::lockserver {
namespace {

using namespace std::chrono_literals;

// Nothing is handled here: the routes alone say what a request asks for.
class Nobody final : public net::RouteHandler {
  public:
    void handle(const net::RoutedRequest& /*request*/, net::HttpReply& /*reply*/) override {}
    void refuse(const net::HttpRequest& /*request*/, const net::RouteRefusal& /*refusal*/,
                net::HttpReply& /*reply*/) override {}
};

tl::expected<LockserverRequest, Fault> parse(std::string_view method, std::string_view target,
                                             std::string_view body = "", bool is_admin = false) {
    static Nobody nobody;
    static const net::RouteTable table{{{LockserverHandler::routes(), &nobody, true}}};
    const std::size_t mark = target.find('?');
    const bool has_query = mark != std::string_view::npos;
    const std::string_view path = target.substr(0, mark);
    const auto match = table.find(method, path);
    if (match.route == nullptr) {
        if (match.allowed_methods.empty() || is_unknown_for(method, path)) {
            return tl::unexpected(explain_path({method, path}));
        }
        return tl::unexpected(Fault{.status = 405, .error = std::string(match.allowed_methods)});
    }
    return parse_request(match.route->action.as<Action>(),
                         {.lock_name = match.parameter,
                          .query = has_query ? target.substr(mark + 1) : "",
                          .body = body,
                          .is_admin = is_admin});
}

// `400 owner_id required`, or nothing.
std::string fault(std::string_view method, std::string_view target, std::string_view body = "") {
    const auto request = parse(method, target, body);
    if (request) return "";
    return std::to_string(request.error().status) + " " + request.error().error;
}

std::string acquire_fault(std::string_view body) {
    return fault("POST", "/v1/locks/x/acquire", body);
}

TEST(LockserverRequest, ReadsAnAcquire) {
    const auto request =
        parse("POST", "/v1/locks/a%2Fb%20c/acquire", R"({"owner_id":"w1","ttl_ms":5000})");
    ASSERT_TRUE(request);
    const auto& acquire = std::get<Acquire>(*request);
    EXPECT_EQ(acquire.lock_name, "a/b c");
    EXPECT_EQ(acquire.owner_id, "w1");
    EXPECT_EQ(acquire.ttl, 5s);
    EXPECT_EQ(acquire.wait, 0s);
    EXPECT_EQ(acquire.mode, core::Mode::exclusive);
    EXPECT_EQ(acquire.limit, 1U);
}

TEST(LockserverRequest, ReadsWhatWeAdded) {
    const auto request = parse("POST", "/v1/locks/x/acquire",
                               R"({"owner_id":"w1","ttl_ms":1,"wait_ms":600000,"mode":"shared",)"
                               R"("request_id":"r1","metadata":"nightly"})");
    ASSERT_TRUE(request);
    const auto& acquire = std::get<Acquire>(*request);
    EXPECT_EQ(acquire.wait, 600s);
    EXPECT_EQ(acquire.mode, core::Mode::shared);
    EXPECT_EQ(acquire.request_id, "r1");
    EXPECT_EQ(acquire.metadata, "nightly");
    const auto permit =
        parse("POST", "/v1/locks/x/acquire", R"({"owner_id":"w1","ttl_ms":1,"limit":3})");
    ASSERT_TRUE(permit);
    EXPECT_EQ(std::get<Acquire>(*permit).limit, 3U);
}

TEST(LockserverRequest, NamesTheFaultOfAnAcquire) {
    EXPECT_EQ(acquire_fault(R"({"ttl_ms":5000})"), "400 owner_id required");
    EXPECT_EQ(acquire_fault(R"({"owner_id":"","ttl_ms":5000})"), "400 owner_id required");
    for (const char* ttl : {"0", "-1", "600001"}) {
        EXPECT_EQ(acquire_fault(R"({"owner_id":"w","ttl_ms":)" + std::string(ttl) + "}"),
                  "400 ttl_ms must be in (0, 600000]");
    }
    EXPECT_EQ(acquire_fault(R"({"owner_id":"w"})"), "400 ttl_ms must be in (0, 600000]");
    EXPECT_EQ(acquire_fault(R"({"owner_id":"w","ttl_ms":600000})"), "");
    EXPECT_EQ(acquire_fault(R"({"owner_id":"w","ttl_ms":1,"wait_ms":-1})"),
              "400 wait_ms must not be negative");
    EXPECT_EQ(acquire_fault(R"({"owner_id":"w","ttl_ms":1,"wait_ms":600001})"),
              "400 wait_ms must be in [0, 600000]; a longer wait needs a request_id");
    EXPECT_EQ(acquire_fault(R"({"owner_id":"w","ttl_ms":1,"wait_ms":600001,"request_id":"r"})"),
              "");
    EXPECT_EQ(acquire_fault(R"({"owner_id":"w","ttl_ms":1,"mode":"both"})"),
              "400 mode must be exclusive or shared");
    EXPECT_EQ(acquire_fault(R"({"owner_id":"w","ttl_ms":1,"limit":0})"),
              "400 limit must be in [1, 1000000]");
    EXPECT_EQ(acquire_fault(R"({"owner_id":"w","ttl_ms":1,"limit":2,"mode":"shared"})"),
              "400 a lock with a limit cannot be shared: every holder takes one permit");
    EXPECT_EQ(acquire_fault(R"({"owner_id":"w","ttl":1})"), "400 unknown field \"ttl\"");
    EXPECT_EQ(acquire_fault(""), "400 the body is empty; a JSON object is expected");
}

TEST(LockserverRequest, ReadsRenewAndRelease) {
    const LeaseId id{core::ScopeKind::named, {core::Fence{7}, core::Secret{9}}};
    std::string proof = R"({"owner_id":"w1","fencing_token":7,"lease_id":")";
    append_lease_id(proof, id);
    const auto renew = parse("POST", "/v1/locks/x/renew", proof + R"(","extend_by_ms":250})");
    ASSERT_TRUE(renew);
    EXPECT_EQ(std::get<Renew>(*renew).lease, id);
    EXPECT_EQ(std::get<Renew>(*renew).extend_by, 250ms);
    const auto release = parse("POST", "/v1/locks/x/release", proof + R"("})");
    ASSERT_TRUE(release);
    EXPECT_EQ(std::get<Release>(*release).lease, id);
    EXPECT_EQ(fault("POST", "/v1/locks/x/renew", proof + R"("})"),
              "400 extend_by_ms must be in (0, 600000]");
}

TEST(LockserverRequest, AProofThatDoesNotFitIsNobodys) {
    const LeaseId id{core::ScopeKind::named, {core::Fence{7}, core::Secret{9}}};
    std::string text;
    append_lease_id(text, id);
    for (const std::string& body :
         {R"({"owner_id":"w1","fencing_token":8,"lease_id":")" + text + R"("})",
          std::string(R"({"owner_id":"w1","fencing_token":7,"lease_id":"made up"})")}) {
        const auto release = parse("POST", "/v1/locks/x/release", body);
        ASSERT_TRUE(release);
        EXPECT_EQ(std::get<Release>(*release).lease, LeaseId{});
    }
}

TEST(LockserverRequest, WantsAWholeProof) {
    for (const char* body :
         {R"({})", R"({"owner_id":"w","lease_id":"l"})", R"({"owner_id":"w","fencing_token":1})",
          R"({"lease_id":"l","fencing_token":1})",
          R"({"owner_id":"w","lease_id":"l","fencing_token":0})",
          R"({"owner_id":"w","lease_id":"l","fencing_token":-1})"}) {
        for (const char* action : {"renew", "release"}) {
            EXPECT_EQ(fault("POST", std::string("/v1/locks/x/") + action, body),
                      "400 owner_id, lease_id, fencing_token required")
                << body;
        }
    }
}

TEST(LockserverRequest, KnowsItsPathsAndMethods) {
    EXPECT_EQ(fault("POST", "/v1/locks/x/steal", "{}"), "404 unknown action");
    EXPECT_EQ(fault("POST", "/v1/locks/x/"), "404 unknown action");
    EXPECT_EQ(fault("POST", "/v1/locks/x/acquire/now", "{}"), "404 invalid path");
    EXPECT_EQ(fault("POST", "/v1/locks//acquire", "{}"), "400 lock_name required");
    EXPECT_EQ(fault("GET", "/v1/locks/"), "400 lock_name required");
    EXPECT_EQ(fault("GET", "/v1/locks//"), "400 lock_name required");
    EXPECT_EQ(fault("GET", "/v1/locks/x/steal"), "404 invalid path");
    for (const char* action : {"acquire", "renew", "release"}) {
        const std::string path = "/v1/locks/x/" + std::string(action);
        EXPECT_EQ(fault("GET", path), "404 invalid path");
        EXPECT_EQ(fault("GET", path + "/"), "404 invalid path");
        for (const char* method : {"HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"}) {
            EXPECT_EQ(fault(method, path), "405 POST") << method;
        }
    }
    EXPECT_EQ(fault("POST", "/v1/locks/x"), "404 unknown action");
    for (const char* method : {"PUT", "PATCH", "OPTIONS"}) {
        EXPECT_EQ(fault(method, "/v1/locks/x"), "405 GET, HEAD, DELETE") << method;
    }
    EXPECT_EQ(fault("POST", "/v1/locks"), "405 GET, HEAD");
    EXPECT_EQ(fault("POST", "/v1/events"), "405 GET");
    EXPECT_EQ(fault("GET", "/v1/locks/%zz").substr(0, 3), "400");
    EXPECT_EQ(fault("GET", "/v1/locks/%zz/steal").substr(0, 3), "400");
}

TEST(LockserverRequest, DoesNotLookAtSlashesInTheEnd) {
    for (const char* path : {"/v1/locks/x/", "/v1/locks/x//", "/v1/locks/x/?queue=true"}) {
        const auto look = parse("GET", path);
        ASSERT_TRUE(look) << path;
        EXPECT_EQ(std::get<Get>(*look).lock_name, "x") << path;
    }
    const auto acquire =
        parse("POST", "/v1/locks/x/acquire/", R"({"owner_id":"w1","ttl_ms":5000})");
    ASSERT_TRUE(acquire);
    EXPECT_EQ(std::get<Acquire>(*acquire).lock_name, "x");
    for (const char* action : {"renew/", "release/"}) {
        EXPECT_EQ(fault("POST", std::string("/v1/locks/x/") + action, "{}").substr(0, 3), "400");
    }
    EXPECT_EQ(std::get<ForceRelease>(*parse("DELETE", "/v1/locks/x/")).lock_name, "x");
    EXPECT_EQ(std::get<Get>(*parse("GET", "/v1/locks/x%2F/")).lock_name, "x/") << "is of the name";
    EXPECT_EQ(fault("POST", "/v1/locks/x/acquire/now/", "{}"), "404 invalid path");
}

TEST(LockserverRequest, ShowsLeaseIdsOnlyToAdministrators) {
    for (const bool is_admin : {false, true}) {
        const auto look = parse("GET", "/v1/locks/x", "", is_admin);
        EXPECT_EQ(std::get<Get>(*look).with_lease_ids, is_admin);
        const auto list = parse("GET", "/v1/locks", "", is_admin);
        EXPECT_EQ(std::get<ListLocks>(*list).with_lease_ids, is_admin);
    }
}

TEST(LockserverRequest, ReadsLooks) {
    EXPECT_TRUE(std::get<Get>(*parse("GET", "/v1/locks/x?queue=true")).with_queue);
    EXPECT_FALSE(std::get<Get>(*parse("HEAD", "/v1/locks/x")).with_queue);
    EXPECT_EQ(fault("GET", "/v1/locks/x?queue=yes"), "400 queue must be true or false");
    EXPECT_FALSE(std::get<Get>(*parse("GET", "/v1/locks/x")).holders_after);
    EXPECT_EQ(std::get<Get>(*parse("GET", "/v1/locks/x?holders_after=7")).holders_after,
              core::Fence{7});
    EXPECT_EQ(fault("GET", "/v1/locks/x?holders_after=-1"),
              "400 holders_after must be the `holders_next` of an earlier page");
    const auto page = parse("GET", "/v1/locks?prefix=a%2F&after=6e616d65643a78&limit=5");
    ASSERT_TRUE(page);
    EXPECT_EQ(std::get<ListLocks>(*page).prefix, "a/");
    EXPECT_EQ(std::get<ListLocks>(*page).after, "named:x");
    EXPECT_EQ(std::get<ListLocks>(*page).limit, 5U);
    EXPECT_EQ(fault("GET", "/v1/locks?limit=0"), "400 limit must be in [1, 1000]");
    EXPECT_EQ(fault("GET", "/v1/locks?limit=1001"), "400 limit must be in [1, 1000]");
    for (const char* wrong : {"inode:x", "6", "696e6f64653a78"}) {
        EXPECT_EQ(fault("GET", std::string("/v1/locks?after=") + wrong),
                  "400 after must be the `next` of an earlier page");
    }
    EXPECT_EQ(std::get<ForceRelease>(*parse("DELETE", "/v1/locks/x")).lock_name, "x");
}

TEST(LockserverRequest, ReadsWhichThingOfANameIsMeant) {
    using core::ScopeKind;
    EXPECT_FALSE(std::get<Get>(*parse("GET", "/v1/locks/x")).kind);
    EXPECT_EQ(std::get<Get>(*parse("GET", "/v1/locks/%2Fa?kind=path")).kind, ScopeKind::path);
    EXPECT_EQ(std::get<ForceRelease>(*parse("DELETE", "/v1/locks/7?kind=inode")).kind,
              ScopeKind::inode);
    for (const char* method : {"GET", "DELETE"}) {
        EXPECT_EQ(fault(method, "/v1/locks/x?kind=galaxy"),
                  "400 kind must be named, semaphore, path, inode or range");
        EXPECT_EQ(fault(method, "/v1/locks/x?kind=range"),
                  "400 a range is written <inode>:<start>-<end>");
        EXPECT_EQ(fault(method, "/v1/locks/x?kind=inode"), "400 an inode is a number");
    }
}

TEST(LockserverRequest, ReadsWhereAWatcherStopped) {
    RequestParts parts{.query = "prefix=jobs"};
    EXPECT_FALSE(std::get<WatchEvents>(*parse_request(Action::watch, parts)).after);
    parts.last_event_id = "17";
    EXPECT_EQ(std::get<WatchEvents>(*parse_request(Action::watch, parts)).after, 17U);
    EXPECT_EQ(std::get<WatchEvents>(*parse_request(Action::watch, parts)).prefix, "jobs");
    parts.last_event_id = "seventeen";
    EXPECT_EQ(parse_request(Action::watch, parts).error().error,
              "Last-Event-ID must be the id of an event");
}

TEST(LockserverRequest, EventsMayBeginAtAPositionAndBeOfOneLock) {
    const auto read = [](std::string_view query, std::optional<std::string_view> last = {}) {
        return parse_request(Action::watch,
                             {.lock_name = "", .query = query, .body = "", .last_event_id = last});
    };
    const auto watch = std::get<WatchEvents>(*read("scope=path:/a%20b&after=17"));
    EXPECT_EQ(watch.scope, "path:/a b");
    EXPECT_EQ(watch.after, 17U);
    EXPECT_EQ(std::get<WatchEvents>(*read("after=17", "18")).after, 18U)
        << "a browser that connects again sends both";
    EXPECT_FALSE(std::get<WatchEvents>(*read("after=&scope=")).after);
    EXPECT_EQ(read("scope=inode:x").error().status, 400);
    EXPECT_EQ(read("after=x").error().status, 400);
}

}  // namespace
}  // namespace holdfast::doors::lockserver
