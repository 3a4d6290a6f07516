// What a token may not read is named to it nowhere.
//
// A server has all doors, and two clients. `root` may do everything. `ci` may do everything with `open/*`
// and nothing else. Whatever ci may not read has the marker in its name, and root has tied it to what ci
// may read: by leases and waits on several locks, by deadlocks, by directories, by the history.
//
// Each row is a request of ci, which never says the marker. No byte that ci hears may contain it. The
// rows are compared with the tables of the program: the routes, the commands of Redis, the verbs of
// dflockd, the operations of the file door, the refusals, the kinds of events. Something new without a
// row fails the test. Where root sees the marker by the same request, the row says so and the test looks:
// a search that could not find anything would prove nothing.
//
// The log is not searched. It is for those who run the server, and names everything (docs/security.md).

#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "app/host.h"
#include "app/http/http_router.h"
#include "core/values/cycle.h"
#include "doors/dflockd/dflockd_answer.h"
#include "doors/dflockd/dflockd_request.h"
#include "doors/hengdang/file_figures.h"
#include "doors/hengdang/http/request_parts.h"
#include "doors/homelab/homelab_answer.h"
#include "doors/lockserver/lockserver_answer.h"
#include "doors/redis/commands/connection_commands.h"
#include "doors/redis/commands/key_commands.h"
#include "doors/redis/redis_protocol.h"
#include "doors/scoped/scoped_answer.h"
#include "files/tree/test_tree.h"
#include "net/client/url.h"
#include "net/loop/test_client.h"
#include "rights/token_file.h"
#include "service/doors.h"
#include "service/ports/clock.h"

namespace holdfast::conformance {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view marker = "zq7x";
const std::string ci = "secret-of-ci", root = "secret-of-root";

bool has_marker(std::string_view text) {
    return text.find(marker) != std::string_view::npos;
}

// Whether root sees the marker by the same request.
enum class Root : std::uint8_t { not_asked, sees };

std::set<std::string> keys_of(const auto& rows) {
    std::set<std::string> keys;
    for (const auto& row : rows) keys.insert(row.key);
    return keys;
}

class HiddenNames : public ::testing::Test {
  protected:
    HiddenNames() {
        std::ofstream(folder_ / "tokens")
            << "ci admin open/* path:/open/* " << rights::to_text(base::sha256(ci)) << "\n"
            << "root admin * " << rights::to_text(base::sha256(root)) << "\n";
        app::ServeOptions options{.http_address = "127.0.0.1:0",
                                  .dflockd_address = "127.0.0.1:0",
                                  .redis_address = "127.0.0.1:0",
                                  .files_address = "127.0.0.1:0",
                                  .tokens_file = folder_ / "tokens",
                                  .is_in_memory = true};
        options.files.root = folder_ / "root";
        host_ = app::Host::start(options, clock_).value();
        thread_ = std::thread([this] { host_->run(); });
    }
    ~HiddenNames() override {
        waiting_.clear();
        host_->shut_down();
        thread_.join();
    }

    [[nodiscard]] net::TestClient connect(const char* door) {
        return net::TestClient(host_->endpoint(door));
    }
    void advance(core::Duration step) {
        clock_.advance(step);
        host_->wake();
    }

    static std::string request(const std::string& line, const std::string& secret,
                               const std::string& body = "") {
        return line + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + secret +
               "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    }
    // The whole answer, fields included.
    std::string ask(const std::string& line, const std::string& secret,
                    const std::string& body = "", const char* door = "http") {
        net::TestClient client = connect(door);
        client.send(request(line, secret, body));
        const net::TestResponse response = client.response();
        return response.header + response.body;
    }
    // Root acquires a lease and gets its token; `scopes` is JSON.
    std::string take(const std::string& scopes, const std::string& holder,
                     const std::string& more = "") {
        const std::string answer = ask("POST /v1/leases", root, lease(scopes, holder, more));
        const std::string start = "\"token\":\"";
        const auto at = answer.find(start);
        EXPECT_NE(at, std::string::npos) << answer;
        return at == std::string::npos ? "" : answer.substr(at + start.size(), 32);
    }
    static std::string lease(const std::string& scopes, const std::string& holder,
                             const std::string& more = "") {
        const bool is_set = scopes.starts_with('[');
        return std::string("{\"") + (is_set ? "scopes" : "scope") + "\":" + scopes +
               ",\"holder\":\"" + holder + "\",\"ttl_ms\":3600000" + more + "}";
    }
    // Root waits. The answer is not read.
    void wait(const std::string& scopes, const std::string& holder, const std::string& lock,
              const std::string& more = ",\"wait_ms\":600000") {
        waiting_.push_back(connect("http"));
        waiting_.back().send(request("POST /v1/leases", root, lease(scopes, holder, more)));
        until("GET /v1/locks/" + lock + "?queue=true", "\"owner_id\":\"" + holder + "\"");
    }
    // Asks as root, until the answer has the text.
    void until(const std::string& line, const std::string& text) {
        const auto end = std::chrono::steady_clock::now() + 30s;
        while (ask(line, root).find(text) == std::string::npos) {
            ASSERT_LT(std::chrono::steady_clock::now(), end) << line << ": " << text;
            std::this_thread::yield();
        }
    }

    const files::testing::TemporaryFolder folder_;
    service::ManualClock clock_{
        service::WallTime{std::chrono::sys_days{std::chrono::January / 15 / 2024} + 10h}};
    std::unique_ptr<app::Host> host_;
    std::thread thread_;
    std::vector<net::TestClient> waiting_;
};

// --- HTTP ---

struct HttpRow {
    std::string key;  // the methods and the pattern of the route
    std::string line;
    std::string body = {};
    Root root = Root::not_asked;
    std::string part = {};  // what ci hears, where another answer would prove nothing
};

// `{token}`: of the lease on open/set and on a lock with the marker.
const std::vector<HttpRow> http_rows{
    {"GET, HEAD /lock", "GET /lock?job=open%2Fset"},
    {"POST /lock", "POST /lock?job=open%2Fset&client=ci&ttl=60"},
    {"POST /lock", "POST /lock?job=open%2Ffree&client=ci&ttl=60"},
    {"DELETE /lock", "DELETE /lock?job=open%2Fset&client=ci"},
    {"GET, HEAD /v1/locks", "GET /v1/locks", "", Root::sees},
    {"GET, HEAD /v1/locks", "GET /v1/locks?prefix=open%2F", "", Root::sees},
    {"GET, HEAD /v1/locks/{lock}", "GET /v1/locks/open%2Fset?queue=true", "", Root::sees},
    {"GET, HEAD /v1/locks/{lock}", "GET /v1/locks/open%2Fheld?queue=true", "", Root::sees},
    {"GET, HEAD /v1/locks/{lock}", "GET /v1/locks/open%2Ffree?queue=true", "", Root::sees},
    {"POST /v1/locks/{lock}/acquire", "POST /v1/locks/open%2Fset/acquire",
     R"({"owner_id":"ci","ttl_ms":5000})", Root::not_asked, R"("current_owner_id":"ann")"},
    {"POST /v1/locks/{lock}/acquire", "POST /v1/locks/open%2Ffree/acquire",
     R"({"owner_id":"ci","ttl_ms":5000})", Root::not_asked, R"("current_owner_id":"bob")"},
    {"POST /v1/locks/{lock}/renew", "POST /v1/locks/open%2Fset/renew",
     R"({"owner_id":"ann","lease_id":"x","fencing_token":1,"extend_by_ms":1000})"},
    {"POST /v1/locks/{lock}/release", "POST /v1/locks/open%2Fset/release",
     R"({"owner_id":"ann","lease_id":"x","fencing_token":1})"},
    {"GET, HEAD /v1/leases", "GET /v1/leases", "", Root::sees},
    {"POST /v1/leases", "POST /v1/leases", R"({"scope":"open/set","holder":"ci"})", Root::not_asked,
     "open/set is held by ann"},
    {"POST /v1/leases", "POST /v1/leases", R"({"scope":"open/free","holder":"ci"})",
     Root::not_asked, "earlier asked for by bob"},
    {"POST /v1/leases", "POST /v1/leases",
     R"({"scope":"semaphore:open/set","limit":2,"holder":"ci"})"},
    {"POST /v1/leases", "POST /v1/leases", R"({"scopes":["open/new","open/set"],"holder":"ci"})"},
    {"POST /v1/leases", "POST /v1/leases",
     R"({"scope":"open/of-y","holder":"ci","wait_ms":60000,"on_deadlock":"refuse"})",
     Root::not_asked, R"("error":"Deadlock")"},
    {"GET, HEAD /v1/leases/{token}", "GET /v1/leases/{token}", "", Root::sees},
    {"POST /v1/leases/{token}/renew", "POST /v1/leases/{token}/renew", "{}", Root::sees},
    {"PUT /v1/leases/{token}/value", "PUT /v1/leases/{token}/value", R"({"value":"x"})",
     Root::sees},
    {"GET, HEAD /v1/deadlocks", "GET /v1/deadlocks", "", Root::sees, R"({"hidden":true})"},
    {"GET, HEAD /v1/elections/{name}", "GET /v1/elections/open%2Fset"},
    {"POST /v1/fence/check", "POST /v1/fence/check", R"({"token":"{token}","scope":"open/set"})",
     Root::sees},
    {"POST /v1/fence/check", "POST /v1/fence/check", R"({"token":"{token}","scope":"open/x"})",
     Root::sees, "the lease is on open/set"},
    {"GET, HEAD /v1/fence/{resource}", "GET /v1/fence/open%2Fbucket"},
    {"POST /v1/fence/{resource}", "POST /v1/fence/open%2Fbucket", R"({"fencing_token":1})"},
    {"GET, HEAD /v1/terraform", "GET /v1/terraform", "", Root::sees},
    {"GET, HEAD /v1/terraform/{name}", "GET /v1/terraform/open%2Fstate"},
    {"POST /v1/terraform/{name}", "POST /v1/terraform/open%2Fstate", R"({"version":4})"},
    {"GET, HEAD /v1/terraform/{name}/versions", "GET /v1/terraform/open%2Fstate/versions"},
    {"POST /v1/terraform/{name}/rollback", "POST /v1/terraform/open%2Fstate/rollback?version=1"},
    {"LOCK /v1/terraform/{name}", "LOCK /v1/terraform/open%2Fstate", R"({"ID":"ci"})"},
    {"UNLOCK /v1/terraform/{name}", "UNLOCK /v1/terraform/open%2Fstate", R"({"ID":"ci"})"},
    {"POST /v1/terraform/{name}/lock", "POST /v1/terraform/open%2Fstate/lock", R"({"ID":"ci"})",
     Root::not_asked, " 423 "},
    {"DELETE /v1/terraform/{name}/lock", "DELETE /v1/terraform/open%2Fstate/lock"},
    {"DELETE /v1/terraform/{name}", "DELETE /v1/terraform/open%2Fstate"},
    {"GET, HEAD /healthz", "GET /healthz"},
    {"GET, HEAD /readyz", "GET /readyz"},
    {"GET, HEAD /metrics", "GET /metrics"},
    {"GET, HEAD /v1/status", "GET /v1/status"},
    {"GET, HEAD /v1/sessions", "GET /v1/sessions"},
    {"DELETE /v1/sessions/{id}", "DELETE /v1/sessions/1-1"},
    {"GET /v1/backup", "GET /v1/backup"},
    {"GET, HEAD /v1/history", "GET /v1/history", "", Root::sees},
    {"GET, HEAD /v1/history", "GET /v1/history?scope=open%2Fpast", "", Root::sees},
    {"GET, HEAD /", "GET /"},
    {"GET, HEAD /ui/{file...}", "GET /ui/main.js"},
    {"GET, HEAD /openapi.json", "GET /openapi.json"},
    {"GET, HEAD /v1/cluster", "GET /v1/cluster"},
    {"POST /v1/cluster/resign", "POST /v1/cluster/resign"},
    {"POST /v1/cluster/new-epoch", "POST /v1/cluster/new-epoch"},
    // What is above is needed until here.
    {"DELETE /v1/fence/{resource}", "DELETE /v1/fence/open%2Fbucket"},
    {"DELETE /v1/leases/{token}", "DELETE /v1/leases/{token}"},
    {"DELETE /v1/locks/{lock}", "DELETE /v1/locks/open%2Fset"},
};
const std::string events_key = "GET /v1/events";  // HiddenEvents

class NoHandler final : public net::RouteHandler {
  public:
    void handle(const net::RoutedRequest& /*request*/, net::HttpReply& /*reply*/) override {}
    void refuse(const net::HttpRequest& /*request*/, const net::RouteRefusal& /*refusal*/,
                net::HttpReply& /*reply*/) override {}
};

TEST(HiddenNamesTable, HasARowForEveryRoute) {
    NoHandler none;
    std::set<std::string> routes;
    for (const net::RouteGroup& group :
         app::http_routes({none, none, none, none, none, none, none, none, none, none})) {
        for (const net::Route& route : group.routes) {
            routes.insert(std::string(route.methods) + " " + std::string(route.pattern));
        }
    }
    std::set<std::string> rows = keys_of(http_rows);
    rows.insert(events_key);
    EXPECT_EQ(rows, routes);
}

TEST_F(HiddenNames, AreInNoAnswerOverHttp) {
    const std::string token = take(R"(["open/set","zq7x/set"])", "ann", R"(,"value":"v")");
    take(R"("zq7x/alone")", "zq7x-holder", R"(,"metadata":"zq7x-meta")");
    take(R"("open/held")", "ann");
    take(R"(["open/state","zq7x/tf"])", "ann");
    wait(R"(["open/free","zq7x/alone"])", "bob", "open%2Ffree");
    wait(R"(["open/held","zq7x/alone"])", "bea", "open%2Fheld");
    // ci has open/of-ci; y has open/of-y and something else, and waits for open/of-ci and something else.
    ask("POST /v1/leases", ci, lease(R"("open/of-ci")", "ci"));
    take(R"(["open/of-y","zq7x/of-y"])", "y");
    wait(R"(["open/of-ci","zq7x/more"])", "y", "open%2Fof-ci");
    // A deadlock of which ci sees one half.
    take(R"("open/d")", "d1");
    take(R"("zq7x/d")", "d2");
    wait(R"("zq7x/d")", "d1", "zq7x%2Fd");
    wait(R"("open/d")", "d2", "open%2Fd");
    for (const char* resource : {"open%2Fbucket", "zq7x%2Fbucket"}) {
        ask(std::string("POST /v1/fence/") + resource, root, R"({"fencing_token":2})");
    }
    ask("POST /v1/terraform/zq7x%2Fstate", root, R"({"version":4})");
    ask("POST /v1/terraform/open%2Fstate2", root, R"({"version":4})");
    ask("DELETE /v1/leases/" + take(R"(["open/past","zq7x/past"])", "ann"), root);

    for (const HttpRow& row : http_rows) {
        const auto filled = [&](std::string text) {
            const auto at = text.find("{token}");
            return at == std::string::npos ? text : text.replace(at, 7, token);
        };
        ASSERT_FALSE(has_marker(row.line + row.body)) << "ci would name it itself";
        const std::string heard = ask(filled(row.line), ci, filled(row.body));
        EXPECT_FALSE(has_marker(heard)) << row.line << " " << row.body << "\n" << heard;
        EXPECT_THAT(heard, HasSubstr(row.part)) << row.line << " " << row.body;
        if (row.root == Root::not_asked) continue;
        const std::string seen = ask(filled(row.line), root, filled(row.body));
        EXPECT_TRUE(has_marker(seen)) << row.line << " " << row.body << "\n" << seen;
    }
    EXPECT_FALSE(has_marker(ask("GET /metrics", root))) << "a label names a lock";
}

// --- dflockd ---

struct VerbRow {
    doors::dflockd::Verb verb;
    std::string lines;
    Root root = Root::not_asked;
};

const std::vector<VerbRow> verb_rows{
    {doors::dflockd::Verb::auth, "auth\n_\n" + ci + "\n"},
    {doors::dflockd::Verb::ping, "ping\n_\n\n"},
    {doors::dflockd::Verb::lock, "l\nopen/set\n0\n"},
    {doors::dflockd::Verb::lock, "l\nopen/free\n0\n"},
    {doors::dflockd::Verb::lock, "sl\nopen/set\n0 2\n"},
    {doors::dflockd::Verb::release, "r\nopen/set\n000000000000000100000000000000ff\n"},
    {doors::dflockd::Verb::renew, "n\nopen/set\n000000000000000100000000000000ff\n"},
    {doors::dflockd::Verb::enqueue, "e\nopen/free\n\n"},
    {doors::dflockd::Verb::wait, "w\nopen/free\n0\n"},
    {doors::dflockd::Verb::stats, "stats\n_\n\n", Root::sees},
};

std::string line_from(net::TestClient& client) {
    std::string line;
    while (!line.ends_with('\n')) {
        const std::string byte = client.read(1);
        if (byte.empty()) break;
        line += byte;
    }
    return line;
}

TEST_F(HiddenNames, AreInNoAnswerOfDflockd) {
    take(R"(["open/set","zq7x/set"])", "ann");
    take(R"("zq7x/alone")", "zq7x-holder");
    wait(R"(["open/free","zq7x/alone"])", "bob", "open%2Ffree");
    net::TestClient client = connect("dflockd"), other = connect("dflockd");
    other.send("auth\n_\n" + root + "\n");
    EXPECT_EQ(line_from(other), "ok\n");
    std::set<int> verbs;
    for (const VerbRow& row : verb_rows) {
        verbs.insert(static_cast<int>(row.verb));
        client.send(row.lines);
        const std::string heard = line_from(client);
        EXPECT_FALSE(heard.empty()) << row.lines;
        EXPECT_FALSE(has_marker(heard)) << row.lines << heard;
        if (row.root == Root::not_asked) continue;
        other.send(row.lines);
        EXPECT_TRUE(has_marker(line_from(other))) << row.lines;
    }
    EXPECT_EQ(verbs.size(), static_cast<std::size_t>(doors::dflockd::last_verb) + 1)
        << "a verb has no row";
}

// --- Redis ---

struct RedisRow {
    std::string key;  // the name of the command
    std::vector<std::string> words;
};

const std::vector<RedisRow> redis_rows{
    {"auth", {"auth", ci}},
    {"hello", {"hello", "3"}},
    {"hello", {"hello", "2"}},
    {"ping", {"ping"}},
    {"select", {"select", "0"}},
    {"client", {"client", "list"}},
    {"client", {"client", "info"}},
    {"echo", {"echo", "x"}},
    {"info", {"info"}},
    {"command", {"command"}},
    {"script", {"script", "load", "return redis.call('get', KEYS[1])"}},
    {"del", {"del", "open/set"}},
    {"delex", {"delex", "open/set"}},
    {"delifeq", {"delifeq", "open/set", "x"}},
    {"exists", {"exists", "open/set", "open/free"}},
    {"expire", {"expire", "open/set", "10"}},
    {"expireat", {"expireat", "open/set", "9999999999"}},
    {"get", {"get", "open/set"}},
    {"get", {"get", "open/free"}},
    {"getrange", {"getrange", "open/set", "0", "-1"}},
    {"holdfast.fence", {"holdfast.fence", "open/set"}},
    {"mget", {"mget", "open/set", "open/free"}},
    {"mset", {"mset", "open/set", "v"}},
    {"msetnx", {"msetnx", "open/free", "v"}},
    {"persist", {"persist", "open/set"}},
    {"pexpire", {"pexpire", "open/set", "10"}},
    {"pexpireat", {"pexpireat", "open/set", "9999999999999"}},
    {"psetex", {"psetex", "open/set", "10", "v"}},
    {"pttl", {"pttl", "open/free"}},
    {"set", {"set", "open/set", "v", "NX"}},
    {"set", {"set", "open/free", "v"}},
    {"setex", {"setex", "open/set", "10", "v"}},
    {"setnx", {"setnx", "open/set", "v"}},
    {"ttl", {"ttl", "open/set"}},
    {"type", {"type", "open/set"}},
    {"unlink", {"unlink", "open/set"}},
    {"holdfast.acquire", {"holdfast.acquire", "open/set", "ci", "1000", "0"}},
    {"eval", {"eval", "return redis.call('set', KEYS[1], 'v')", "1", "open/set"}},
    {"evalsha", {"evalsha", "0000000000000000000000000000000000000000", "1", "open/set"}},
    {"watch", {"watch", "open/set"}},
    {"unwatch", {"unwatch"}},
    {"multi", {"multi"}},
    {"get", {"get", "open/set"}},
    {"exec", {"exec"}},
    {"multi", {"multi"}},
    {"discard", {"discard"}},
    {"quit", {"quit"}},
};

TEST(HiddenNamesTable, HasARowForEveryCommandOfRedis) {
    std::set<std::string> commands;
    for (const auto& command : doors::redis::all_key_commands()) commands.emplace(command.name);
    for (const auto& name : doors::redis::connection_command_names()) commands.emplace(name);
    for (const auto& own : doors::redis::all_own_words()) commands.emplace(own.name);
    EXPECT_EQ(keys_of(redis_rows), commands);
}

TEST_F(HiddenNames, AreInNoAnswerOfRedis) {
    take(R"(["open/set","zq7x/set"])", "ann");
    take(R"("zq7x/alone")", "zq7x-holder");
    wait(R"(["open/free","zq7x/alone"])", "bob", "open%2Ffree");
    // All at once: the answers are in order, and the connection closes after the last.
    std::string bytes;
    for (const RedisRow& row : redis_rows) {
        bytes += "*" + std::to_string(row.words.size()) + "\r\n";
        for (const std::string& word : row.words) {
            bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
        }
    }
    ASSERT_FALSE(has_marker(bytes));
    net::TestClient client = connect("redis");
    client.send(bytes);
    const std::string heard = client.read_to_end();
    EXPECT_THAT(heard, HasSubstr("$3\r\nann\r\n"));
    EXPECT_THAT(heard, HasSubstr("$3\r\nbob\r\n"));
    EXPECT_FALSE(has_marker(heard)) << heard;
}

// --- Files ---

using doors::hengdang::FileOperation;

struct FileRow {
    FileOperation operation;
    std::string line;
    std::string body = {};
    Root root = Root::not_asked;
};

const std::vector<FileRow> file_rows{
    {FileOperation::session, "GET /auth/session"},
    {FileOperation::session, "GET /auth/sessions"},
    {FileOperation::session, "DELETE /auth/sessions/none"},
    {FileOperation::list, "GET /", "", Root::sees},
    {FileOperation::list, "GET /open/"},
    {FileOperation::get, "GET /open/f.txt"},
    {FileOperation::put, "PUT /open/f.txt", "new"},
    {FileOperation::put, "PUT /open/new.txt", "new"},
    {FileOperation::patch, "PATCH /open/f.txt", "x"},
    {FileOperation::lock, "GET /open/f.txt?lock=status"},
    {FileOperation::lock, "GET /open/f.txt?lock=acquire"},
    {FileOperation::lock, "GET /open/f.txt?lock=refresh"},
    {FileOperation::lock, "GET /open/f.txt?lock=release"},
    {FileOperation::make_directory, "POST /open/dir/"},
    {FileOperation::remove_directory, "DELETE /open/dir/"},
    {FileOperation::remove, "DELETE /open/f.txt"},
    {FileOperation::other, "BREW /open/f.txt"},
};

std::string session_of(const std::string& answer) {
    const std::string start = "\"sessionId\":\"";
    const auto at = answer.find(start);
    EXPECT_NE(at, std::string::npos) << answer;
    return at == std::string::npos
               ? ""
               : answer.substr(at + start.size(),
                               answer.find('"', at + start.size()) - at - start.size());
}

TEST_F(HiddenNames, AreInNoAnswerOfTheFileDoor) {
    const std::string of_root = session_of(ask("POST /auth/session", root, "", "files"));
    const std::string of_ci = session_of(ask("POST /auth/session", ci, "", "files"));
    for (const char* path : {"/open/f.txt", "/zq7x/f.txt", "/zq7x.txt"}) {
        EXPECT_THAT(ask(std::string("PUT ") + path, of_root, "text", "files"), HasSubstr("201"));
    }
    take(R"(["path:/open/f.txt","path:/zq7x/f.txt"])", "ann");
    std::set<int> operations;
    for (const FileRow& row : file_rows) {
        operations.insert(static_cast<int>(row.operation));
        const std::string heard = ask(row.line, of_ci, row.body, "files");
        EXPECT_FALSE(has_marker(heard)) << row.line << "\n" << heard;
        if (row.root == Root::not_asked) continue;
        EXPECT_TRUE(has_marker(ask(row.line, of_root, row.body, "files"))) << row.line;
    }

    // The stream of changes: what ci may read comes, and nothing before it.
    operations.insert(static_cast<int>(FileOperation::events));
    net::TestClient stream = connect("files");
    stream.send(request("GET /events/stream?path=/*", of_ci));
    std::string heard = stream.response().header;
    EXPECT_THAT(heard, HasSubstr(" 200 "));
    ask("PUT /zq7x/later.txt", of_root, "text", "files");
    ask("PUT /open/later.txt", of_root, "text", "files");
    while (heard.find("open/later.txt") == std::string::npos) {
        const std::string byte = stream.read(1);
        ASSERT_FALSE(byte.empty()) << heard;
        heard += byte;
    }
    EXPECT_FALSE(has_marker(heard)) << heard;
    EXPECT_EQ(operations.size(), static_cast<std::size_t>(doors::hengdang::last_file_operation) + 1)
        << "an operation has no row";
}

// --- Refusals ---

class OnlyOpen final : public core::ScopeFilter {
  public:
    [[nodiscard]] bool includes(const core::Scope& scope) const override {
        return scope.name.starts_with("open/");
    }
};

// Every refusal at every door, of a lease on a lock that the client may read and on one that it may not.
TEST(HiddenNamesRefusals, NameNothingThatTheClientMayNotRead) {
    const service::ManualClock clock{service::WallTime{}};
    const std::string members = core::set_to_text(std::vector<core::SetMember>{
        {.scope = core::Scope::named("zq7x/a")}, {.scope = core::Scope::named("open/a")}});
    const std::string cycle = core::cycle_to_text(
        std::vector<core::CycleMember>{{.owner = {.name = "ci"},
                                        .waits_for = core::Scope::named("open/a"),
                                        .held_by = {.name = "b"}},
                                       {.owner = {.name = "zq7x-b"},
                                        .waits_for = core::Scope::named("zq7x/a"),
                                        .held_by = {.name = "zq7x-c"}},
                                       {.owner = {.name = "c"},
                                        .waits_for = core::Scope::named("open/c"),
                                        .held_by = {.name = "ci"}}});
    const auto readable = std::make_shared<OnlyOpen>();
    const std::string job = "open/a";
    for (int number = 0; number <= static_cast<int>(core::last_refusal); ++number) {
        for (const bool is_behind_waiter : {false, true}) {
            const auto refusal = core::Refusal{static_cast<std::uint8_t>(number)};
            core::Outcome outcome = core::Outcome::refuse(refusal);
            // A lease in the way is shown by its lock that was asked for; one that was found by a token by
            // its first.
            const bool is_of_token = refusal == core::Refusal::scope_mismatch;
            outcome.lease.scope = core::Scope::named(is_of_token ? "zq7x/a" : "open/a");
            outcome.lease.owner = {.door = service::terraform_door, .name = "ann"};
            outcome.lease.token.fence = core::Fence{is_behind_waiter ? 0U : 7U};
            outcome.lease.members = members;
            outcome.cycle = cycle;
            outcome.is_behind_waiter = is_behind_waiter;
            const service::Response response{.outcome = outcome};
            std::vector<std::string> told(3);
            static_cast<void>(doors::homelab::append_answer(
                told[0],
                {.action = doors::homelab::Action::acquire, .job = job, .client = "ci", .ttl = {}},
                response, clock));
            static_cast<void>(doors::lockserver::append_answer(
                told[1], doors::lockserver::Acquire{.lock_name = job, .owner_id = "ci"}, response,
                clock));
            for (const auto verb : {doors::dflockd::Verb::lock, doors::dflockd::Verb::wait}) {
                doors::dflockd::append_answer(told[2], verb, response);
            }
            const doors::scoped::OwnedScope scope{.kind = core::ScopeKind::named, .name = job};
            for (const doors::scoped::ScopedRequest& request :
                 std::vector<doors::scoped::ScopedRequest>{
                     doors::scoped::Acquire{.scope = scope, .holder = "ci", .readable = readable},
                     doors::scoped::CheckToken{.scope = scope, .readable = readable},
                     doors::scoped::Renew{}, doors::scoped::SetValue{}, doors::scoped::Release{},
                     doors::scoped::Look{}}) {
                static_cast<void>(
                    doors::scoped::append_answer(told.emplace_back(), request, response, clock));
            }
            doors::redis::append_reply(told.emplace_back(), doors::redis::explain(refusal, "set"),
                                       doors::redis::RespVersion::resp2);
            for (const std::string& text : told) {
                EXPECT_FALSE(text.empty()) << core::to_text(refusal);
                EXPECT_FALSE(has_marker(text)) << core::to_text(refusal) << ": " << text;
            }
        }
    }
}

// --- Events ---

// Reads a stream of events up to one that has the text; returns all of it.
std::string read_up_to(net::TestClient& stream, const std::string& text) {
    std::string heard;
    while (heard.find(text) == std::string::npos) {
        const std::string byte = stream.read(1);
        if (byte.empty()) {
            ADD_FAILURE() << "it ended after " << heard;
            break;
        }
        heard += byte;
    }
    return heard;
}

// The kinds of the events that have the marker.
std::set<std::string> kinds_with_marker(const std::string& stream) {
    std::set<std::string> kinds;
    const std::string start = "event: ";
    for (auto at = stream.find(start); at != std::string::npos; at = stream.find(start, at + 1)) {
        const auto end = stream.find("\n\n", at);
        const std::string event = stream.substr(at, end - at);
        if (has_marker(event))
            kinds.insert(event.substr(start.size(), event.find('\n') - start.size()));
    }
    return kinds;
}

TEST_F(HiddenNames, AreInNoEvent) {
    net::TestClient of_root = connect("http"), of_ci = connect("http");
    of_root.send(request("GET /v1/events", root));
    of_ci.send(request("GET /v1/events", ci));
    EXPECT_EQ(of_root.response().status, 200);
    EXPECT_EQ(of_ci.response().status, 200);

    const std::string both = R"(["zq7x/a","open/a"])";
    const std::string token = take(both, "ann", R"(,"value":"v")");
    ask("PUT /v1/leases/" + token + "/value", root, R"({"value":"w"})");
    ask("POST /v1/leases/" + token + "/renew", root, "{}");
    wait(both, "late", "open%2Fa", ",\"wait_ms\":1000");
    advance(2s);
    until("GET /v1/locks/open%2Fa?queue=true", "\"queue_length\":0");
    wait(both, "gone", "open%2Fa");
    waiting_.clear();  // it hangs up
    until("GET /v1/locks/open%2Fa?queue=true", "\"queue_length\":0");
    ask("DELETE /v1/leases/" + token, root);
    ask("POST /v1/leases", root, R"({"scopes":["zq7x/b","open/b"],"holder":"ann","ttl_ms":1000})");
    ask("POST /lock?job=zq7x%2Fgrace&client=ann&ttl=1s", root);
    advance(2s);
    until("GET /v1/locks/open%2Fb", "\"held\":false");
    advance(1min);
    until("GET /v1/locks/zq7x%2Fgrace", "\"held\":false");
    take(R"("open/d")", "d1");
    take(R"("zq7x/d")", "d2");
    wait(R"("zq7x/d")", "d1", "zq7x%2Fd");
    wait(R"("open/d")", "d2", "open%2Fd");
    ask("POST /v1/fence/zq7x%2Fbucket", root, R"({"fencing_token":2})");
    ask("POST /v1/fence/zq7x%2Fbucket", root, R"({"fencing_token":1})");
    take(R"("zq7x/forced")", "ann");
    ask("DELETE /v1/locks/zq7x%2Fforced", root);
    {
        net::TestClient session = connect("dflockd");
        session.send("auth\n_\n" + root + "\nl\nzq7x/session\n0\n");
        EXPECT_EQ(line_from(session), "ok\n");
        EXPECT_THAT(line_from(session), HasSubstr("ok "));
    }
    until("GET /v1/locks/zq7x%2Fsession", "\"held\":false");
    take(R"("open/end")", "ann");

    const std::string seen = read_up_to(of_root, "open/end"), heard = read_up_to(of_ci, "open/end");
    std::set<std::string> kinds{"fence_refused", "audit"};
    for (int kind = 0; kind <= static_cast<int>(core::last_event_kind); ++kind) {
        kinds.emplace(core::to_text(core::EventKind{static_cast<std::uint8_t>(kind)}));
    }
    // Sessions have names of their own. They are for those who may read everything.
    for (const char* kind : {"session_opened", "session_ended"}) {
        kinds.erase(kind);
        EXPECT_THAT(seen, HasSubstr(std::string("event: ") + kind));
        EXPECT_THAT(heard, Not(HasSubstr(kind)));
    }
    EXPECT_EQ(kinds_with_marker(seen), kinds) << "a kind has no row: " << seen;
    EXPECT_FALSE(has_marker(heard)) << heard;
    EXPECT_THAT(heard, HasSubstr("event: deadlock"));
}

}  // namespace
}  // namespace holdfast::conformance
