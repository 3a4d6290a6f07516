// Elections: who leads, what it tells, and those who watch.

#include <gmock/gmock.h>

#include <string>

#include "../event_reader.h"
#include "../http_dialogue.h"

namespace holdfast::conformance {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ScopedElection : public ::testing::TestWithParam<std::size_t> {
  protected:
    // The whole answer to a request.
    net::TestResponse ask(const std::string& line, const std::string& body = "") {
        net::TestClient client = host_.connect();
        client.send(http(line, body));
        return client.response();
    }
    std::string campaign(const std::string& holder, const std::string& more = "") {
        const auto answer = ask("POST /v1/leases", R"({"scope":"nightly","holder":")" + holder +
                                                       R"(","ttl_ms":5000)" + more + "}");
        EXPECT_EQ(answer.status, 200) << answer.body;
        return field(answer.body, "token");
    }
    void resign(const std::string& token) {
        EXPECT_EQ(ask("DELETE /v1/leases/" + token).status, 200);
    }
    // The text or number of a field.
    static std::string field(const std::string& body, const std::string& name) {
        const std::string start = "\"" + name + "\":";
        const auto at = body.find(start);
        if (at == std::string::npos) return "";
        const std::string rest = body.substr(at + start.size());
        return rest.starts_with('"') ? rest.substr(1, rest.find('"', 1) - 1)
                                     : rest.substr(0, rest.find_first_of(",}"));
    }
    std::string position() { return field(ask("GET /v1/elections/nightly").body, "position"); }

    TestHost host_{GetParam()};
    Dialogue dialogue_{host_};
};
INSTANTIATE_TEST_SUITE_P(Threads, ScopedElection, ::testing::Values(1, 3));

TEST_P(ScopedElection, ShowsTheLeaderItsValueAndTheCandidates) {
    dialogue_.hold(R"(
        > GET /v1/elections/nightly
        < 200 {"election":"nightly","candidates":0}
        > POST /v1/leases {"scope":"nightly","holder":"ann","ttl_ms":5000,"value":"10.0.0.1:80"}
        < 200 {"token":"$secret1","fencing_token":$token1,"scope":{"kind":"named","name":"nightly"},"holder":"ann","mode":"exclusive","acquired_at":"@@0","expires_at":"@@5000","ttl_ms":5000,"duration_ms":5000,"value":"10.0.0.1:80","revision":1}
        b> POST /v1/leases {"scope":"nightly","holder":"bob","ttl_ms":5000,"wait_ms":60000,"value":"10.0.0.2:80"}
        waiting 1
        > GET /v1/elections/nightly
        < 200 {"election":"nightly","leader":"ann","value":"10.0.0.1:80","revision":1,"fencing_token":$token1,"since":"2024-01-15T10:30:00.000Z","candidates":2}
        +1000
        > PUT /v1/leases/$secret1/value {"value":"moved"}
        < 200 {"token":"$secret1","fencing_token":$token1,"scope":{"kind":"named","name":"nightly"},"holder":"ann","mode":"exclusive","acquired_at":"@@0","expires_at":"@@5000","ttl_ms":5000,"duration_ms":5000,"value":"moved","revision":2}
        > GET /v1/elections/nightly
        < 200 {"election":"nightly","leader":"ann","value":"moved","revision":2,"fencing_token":$token1,"since":"2024-01-15T10:30:00.000Z","candidates":2}
        > DELETE /v1/leases/$secret1
        < 200 {"released":true}
        b< 200 {"token":"$secret2","fencing_token":$token2,"scope":{"kind":"named","name":"nightly"},"holder":"bob","mode":"exclusive","acquired_at":"@@1000","expires_at":"@@6000","ttl_ms":5000,"duration_ms":5000,"value":"10.0.0.2:80","revision":1}
        > PUT /v1/leases/$secret1/value {"value":"late"}
        < 410 {"error":"LockExpired","message":"the lease of this token has ended"}
    )");
}

TEST_P(ScopedElection, IsTheNamedLockWhateverTheDoor) {
    ask("POST /v1/locks/nightly/acquire", R"({"owner_id":"w1","ttl_ms":5000})");
    EXPECT_THAT(ask("GET /v1/elections/nightly").body,
                AllOf(HasSubstr(R"("leader":"w1","fencing_token":)"), Not(HasSubstr("value"))));
}

TEST_P(ScopedElection, RefusesWhatMakesNoSense) {
    dialogue_.hold(R"(
        > PUT /v1/leases/00000000000000000000000000000000/value {"value":"x"}
        < 404 {"error":"LockNotFound","message":"no lease was ever given this token"}
        > PUT /v1/leases/x/value {}
        < 400 {"error":"BadRequest","message":"value required: a text; an empty one takes the value away"}
        > GET /v1/elections/x?watch=perhaps
        < 400 {"error":"BadRequest","message":"watch must be true or false"}
        > GET /v1/elections/x?watch=true&after=soon
        < 400 {"error":"BadRequest","message":"after must be the position of an earlier answer"}
        > GET /v1/elections/x?watch=true&wait_ms=600001
        < 400 {"error":"BadRequest","message":"wait_ms must be in [0, 600000]"}
        > GET /v1/elections/a/b
        < 404 {"error":"NotFound","message":"an election is at /v1/elections/{name}; write a slash in its name %2F"}
    )");
    const std::string token = campaign("ann");
    const std::string long_value(4097, 'x');
    const auto answer =
        ask("PUT /v1/leases/" + token + "/value", R"({"value":")" + long_value + "\"}");
    EXPECT_EQ(answer.status, 400);
    EXPECT_THAT(answer.body, HasSubstr("4096 bytes at most"));
}

TEST_P(ScopedElection, ALongPollIsAnsweredAtTheNextChange) {
    const std::string ann = campaign("ann");
    const std::string then = position();
    net::TestClient watcher = host_.connect();
    watcher.send(http("GET /v1/elections/nightly?watch=true&after=" + then));
    EXPECT_FALSE(watcher.has_input(50ms));
    ask("POST /v1/leases/" + ann + "/renew");  // changes nothing that it wants to hear of
    ask("PUT /v1/leases/" + ann + "/value", R"({"value":"moved"})");
    const auto changed = watcher.response();
    EXPECT_EQ(changed.status, 200);
    EXPECT_THAT(changed.body, HasSubstr(R"("leader":"ann","value":"moved","revision":1)"));
    watcher.send(
        http("GET /v1/elections/nightly?watch=true&after=" + field(changed.body, "position")));
    resign(ann);
    EXPECT_THAT(watcher.response().body, Not(HasSubstr("leader")));
}

TEST_P(ScopedElection, ALongPollIsAnsweredAtOnceIfItCameTooLate) {
    const EventReader somebody(host_);  // the server keeps events from now on
    const std::string then = position();
    const std::string ann = campaign("ann");
    EXPECT_THAT(ask("GET /v1/elections/nightly?watch=true&after=" + then).body,
                HasSubstr(R"("leader":"ann")"));
    EXPECT_THAT(ask("GET /v1/elections/nightly?watch=true&after=99999999999999999").body,
                HasSubstr(R"("leader":"ann")"))
        << "a position of another server";
    EXPECT_THAT(ask("GET /v1/elections/nightly?watch=true&after=1").body,
                HasSubstr(R"("leader":"ann")"))
        << "the events since then are forgotten";
}

TEST_P(ScopedElection, ALongPollWithoutNewsIsAnsweredAfterItsWait) {
    campaign("ann");
    const auto answer = ask("GET /v1/elections/nightly?watch=true&wait_ms=20&after=" + position());
    EXPECT_EQ(answer.status, 200);
    EXPECT_THAT(answer.body, HasSubstr(R"("leader":"ann")"));
}

TEST_P(ScopedElection, AStreamTellsTheStateAndEachChange) {
    const std::string ann = campaign("ann", R"(,"value":"a")");
    EventReader reader(host_, EventReader::Address{.path = "/v1/elections/nightly?watch=true",
                                                   .headers = "Accept: text/event-stream\r\n"});
    const SeenEvent first = reader.next();
    EXPECT_EQ(first.kind, "leader");
    EXPECT_EQ(first.id, field(first.data, "position"));
    EXPECT_THAT(first.data, HasSubstr(R"("leader":"ann","value":"a","revision":1)"));
    ask("PUT /v1/leases/" + ann + "/value", R"({"value":"b"})");
    EXPECT_THAT(reader.next().data, HasSubstr(R"("value":"b","revision":2)"));
    resign(ann);
    const SeenEvent nobody = reader.next();
    EXPECT_THAT(nobody.data, Not(HasSubstr("leader")));
    EXPECT_GT(std::stoull(nobody.id), std::stoull(first.id));
    campaign("bob");
    EXPECT_THAT(reader.next().data, HasSubstr(R"("leader":"bob")"));
    host_.advance(5s);
    EXPECT_THAT(reader.next().data, Not(HasSubstr("leader"))) << "its lease has expired";
}

// A reader of all events that begins at the position of a snapshot hears exactly the rest.
TEST_P(ScopedElection, APositionLeadsIntoTheStreamOfEvents) {
    const EventReader somebody(host_);
    const std::string ann = campaign("ann");
    for (const std::string snapshot :
         {"GET /v1/locks", "GET /v1/locks/nightly", "GET /v1/locks/unknown", "GET /v1/leases",
          "GET /v1/sessions", "GET /v1/elections/nightly"}) {
        const std::string then = field(ask(snapshot).body, "position");
        ASSERT_NE(then, "") << snapshot;
        ask("PUT /v1/leases/" + ann + "/value", R"({"value":")" + snapshot + "\"}");
        for (const bool is_in_address : {false, true}) {
            EventReader reader(host_, is_in_address ? "?after=" + then : "",
                               is_in_address ? "" : then);
            const SeenEvent event = reader.next();
            EXPECT_EQ(event.kind, "value_set") << snapshot;
            EXPECT_EQ(field(event.data, "value"), snapshot);
        }
    }
}

TEST_P(ScopedElection, EventsCanBeOfOneLockOnly) {
    EventReader reader(host_, "?scope=nightly");
    ask("POST /v1/leases", R"({"scope":"nightly2","holder":"ann"})");
    ask("POST /v1/leases", R"({"scope":"path:nightly","holder":"ann"})");
    campaign("bob", R"(,"value":"v")");
    const SeenEvent event = reader.next();
    EXPECT_EQ(event.kind, "granted");
    EXPECT_EQ(field(event.data, "owner_id"), "bob");
    EXPECT_THAT(event.data, HasSubstr(R"("value":"v","revision":1)"));
    EventReader inode(host_, "?scope=inode:7");
    ask("POST /v1/leases", R"({"scope":"range:8:0-10","holder":"ann"})");
    ask("POST /v1/leases", R"({"scope":"range:7:0-10","holder":"cid"})");
    EXPECT_EQ(field(inode.next().data, "owner_id"), "cid");
}

}  // namespace
}  // namespace holdfast::conformance
