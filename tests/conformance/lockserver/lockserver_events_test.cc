// `/v1/events`: every transition once, in order, also for those who come back.

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../event_reader.h"
#include "../http_dialogue.h"

namespace holdfast::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LockserverEvents : public ::testing::TestWithParam<std::size_t> {
  protected:
    // Somebody takes the lock and gives it back: two events each time.
    void use(const std::string& lock, int times = 1) {
        net::TestClient client = host_.connect();
        const std::string both = http("POST /lock?client=w&ttl=5s&job=" + lock) +
                                 http("DELETE /lock?client=w&job=" + lock);
        // Not all at once: who does not read his answers is not listened to.
        for (int left = times; left > 0; left -= 100) {
            const int some = std::min(left, 100);
            for (int i = 0; i < some; ++i) client.send(both);
            for (int i = 0; i < 2 * some; ++i) ASSERT_EQ(client.response().status, 200);
        }
    }

    TestHost host_{GetParam()};
    Dialogue dialogue_{host_};
};
INSTANTIATE_TEST_SUITE_P(Threads, LockserverEvents, ::testing::Values(1, 3));

TEST_P(LockserverEvents, ShowWhatHappens) {
    EventReader reader(host_);
    dialogue_.hold(R"(
        > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000,"metadata":"build 7"}
        < 200 {"acquired":true,"lock_name":"x","owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000,"metadata":"build 7"}
        +1000
        b> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":3000,"wait_ms":60000}
        queue x 1
        > POST /v1/locks/x/release {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1}
        < 200 {"released":true}
        b< 200 {"acquired":true,"lock_name":"x","owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@4000}
        c> POST /v1/locks/x/acquire {"owner_id":"w3","ttl_ms":3000,"wait_ms":1000}
        queue x 1
        +1000
        c< 409 {"acquired":false,"lock_name":"x","recommended_retry_ms":25,"reason":"WAIT_TIMED_OUT"}
        > POST /v1/locks/x/renew {"owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"extend_by_ms":3000}
        < 200 {"renewed":true,"lease_expiry_ms":@5000}
        +3000
    )");
    const std::string start = R"({"at_ms":1705314)";
    const std::string x = R"(,"lock_name":"x","kind":"named","mode":"exclusive","owner_id":")";
    const std::string by = R"(,"by":"http@127.0.0.1")";
    const std::string first = R"(,"fencing_token":)" + dialogue_.blank("token1");
    const std::string second = R"(,"fencing_token":)" + dialogue_.blank("token2");
    const std::pair<std::string, std::string> expected[] = {
        {"granted", start + "600000" + x + R"(w1","door":"lockserver")" + first +
                        R"(,"lease_expiry_ms":1705314605000)" + by +
                        R"(,"metadata":"build 7","queue_length":0})"},
        {"queued", start + "601000" + x + R"(w2","door":"lockserver","waited_ms":0)" + by +
                       R"(,"queue_length":1})"},
        {"released", start + "601000" + x + R"(w1","door":"lockserver")" + first +
                         R"(,"lease_expiry_ms":1705314605000,"held_ms":1000)" + by +
                         R"(,"metadata":"build 7","queue_length":1})"},
        {"granted", start + "601000" + x + R"(w2","door":"lockserver")" + second +
                        R"(,"lease_expiry_ms":1705314604000,"waited_ms":0)" + by +
                        R"(,"queue_length":0})"},
        {"queued", start + "601000" + x + R"(w3","door":"lockserver","waited_ms":0)" + by +
                       R"(,"queue_length":1})"},
        {"wait_timed_out",
         start + "602000" + x + R"(w3","door":"lockserver","waited_ms":1000,"queue_length":0})"},
        {"renewed", start + "602000" + x + R"(w2","door":"lockserver")" + second +
                        R"(,"lease_expiry_ms":1705314605000,"queue_length":0})"},
        {"expired", start + "605000" + x + R"(w2","door":"lockserver")" + second +
                        R"(,"lease_expiry_ms":1705314605000,"held_ms":4000,"queue_length":0})"},
    };
    std::uint64_t last_id = 0;
    for (const auto& [kind, data] : expected) {
        const SeenEvent event = reader.next();
        EXPECT_EQ(event.kind, kind);
        EXPECT_EQ(event.data, data);
        const std::uint64_t id = std::stoull(event.id);
        EXPECT_TRUE(last_id == 0 || id == last_id + 1) << id << " after " << last_id;
        last_id = id;
    }
}

TEST_P(LockserverEvents, OfOtherDoorsAreShownToo) {
    EventReader reader(host_);
    dialogue_.hold(R"(
        > POST /lock?client=a&job=x&ttl=5s
        < 200 {"success":true,"job":"x","holder":"a","message":"acquired","expires_at":"2024-01-15T10:30:05Z"}
        +5000
        +5000
    )");
    EXPECT_THAT(reader.next().data, HasSubstr(R"("owner_id":"a","door":"homelab")"));
    EXPECT_EQ(reader.next().kind, "expired");
    EXPECT_EQ(reader.next().kind, "grace_ended");
}

// An act comes behind what it has led to, and only to readers that want to hear of everything.
TEST_P(LockserverEvents, TellOfActsOnce) {
    EventReader all(host_), some(host_, "?prefix=x"), one(host_, "?scope=x");
    dialogue_.hold(R"(
        > POST /v1/locks/x/acquire {"owner_id":"w","ttl_ms":5000}
        < 200 {"acquired":true,"lock_name":"x","owner_id":"w","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000}
        > DELETE /v1/locks/x
        < 200 {"released":true,"holders":1}
        > DELETE /v1/locks/x
        < 200 {"released":false,"reason":"NOT_HELD","holders":0}
    )");
    use("x");
    std::vector<std::string> kinds;
    for (int i = 0; i < 5; ++i) {
        const SeenEvent event = all.next();
        kinds.push_back(event.kind);
        if (event.kind != "audit") continue;
        EXPECT_EQ(event.data, R"({"at_ms":1705314600000,"action":"force_release","what":"x",)"
                              R"("by":"http@127.0.0.1"})");
    }
    EXPECT_THAT(kinds, ElementsAre("granted", "released", "audit", "granted", "released"));
    for (EventReader* const reader : {&some, &one}) {
        for (const char* kind : {"granted", "released", "granted", "released"}) {
            EXPECT_EQ(reader->next().kind, kind);
        }
    }
}

TEST_P(LockserverEvents, AreThoseOfAPrefix) {
    EventReader all(host_), some(host_, "?prefix=job%2F");
    use("other");
    use("job%2Fa");
    use("jo");
    use("job%2Fb");
    std::vector<std::string> names;
    for (int i = 0; i < 4; ++i) {
        const std::string data = some.next().data;
        const auto begin = data.find("\"lock_name\":\"") + 13;
        names.push_back(data.substr(begin, data.find('"', begin) - begin));
    }
    EXPECT_THAT(names, ElementsAre("job/a", "job/a", "job/b", "job/b"));
    for (int i = 0; i < 8; ++i) EXPECT_NE(all.next().id, "");
}

// Wherever a reader was cut off, it goes on behind what it has seen.
TEST_P(LockserverEvents, GoOnWhereAReaderStopped) {
    std::vector<std::string> ids;
    {
        EventReader reader(host_);
        for (int i = 0; i < 5; ++i) use("x");
        for (int i = 0; i < 10; ++i) ids.push_back(reader.next().id);
    }
    use("y");
    for (std::size_t seen = 0; seen < ids.size(); ++seen) {
        EventReader again(host_, "", ids[seen]);
        for (std::size_t i = seen + 1; i < ids.size(); ++i) ASSERT_EQ(again.next().id, ids[i]);
        EXPECT_THAT(again.next().data, HasSubstr(R"("lock_name":"y")"));
        EXPECT_THAT(again.next().data, HasSubstr(R"("lock_name":"y")"));
    }
}

// More happens than is read at one time, and nothing is lost or told twice.
TEST_P(LockserverEvents, AreCompleteAlsoWhenThereAreMany) {
    EventReader first(host_);
    use("x");
    const std::string start = first.next().id;
    constexpr int requests = 1500;
    use("x", requests);
    EventReader late(host_, "", start);
    std::uint64_t id = std::stoull(start);
    for (int i = 0; i < 2 * requests + 1; ++i) {
        const SeenEvent event = late.next();
        ASSERT_EQ(event.id, std::to_string(++id));
        ASSERT_EQ(event.kind, i % 2 == 0 ? "released" : "granted");
    }
}

TEST_P(LockserverEvents, SayWhenSomeAreMissing) {
    EventReader first(host_);
    use("x");
    const std::uint64_t oldest = std::stoull(first.next().id);
    EXPECT_EQ(first.next().kind, "released");
    EventReader late(host_, "", "1");
    EXPECT_EQ(late.next().kind, "gap");
    EXPECT_EQ(late.next().id, std::to_string(oldest));
    EventReader from_elsewhere(host_, "", "9007199254740991");
    EXPECT_EQ(from_elsewhere.next().kind, "gap");
    EXPECT_EQ(from_elsewhere.next().id, std::to_string(oldest));
}

TEST_P(LockserverEvents, AreForgottenWhenThereWereTenThousandMore) {
    EventReader first(host_);
    use("x");
    const std::uint64_t oldest = std::stoull(first.next().id);
    use("x", 5000);
    EventReader in_time(host_, "", std::to_string(oldest + 1));
    EXPECT_EQ(in_time.next().id, std::to_string(oldest + 2));
    EventReader too_late(host_, "", std::to_string(oldest));
    EXPECT_EQ(too_late.next().kind, "gap");
    EXPECT_EQ(too_late.next().id, std::to_string(oldest + 2));
}

TEST_P(LockserverEvents, MustBeAskedForByTheirId) {
    net::TestClient client = host_.connect();
    client.send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: yesterday\r\n\r\n");
    const net::TestResponse response = client.response();
    EXPECT_EQ(response.status, 400);
    EXPECT_EQ(response.body, "{\"error\":\"Last-Event-ID must be the id of an event\"}\n");
}

}  // namespace
}  // namespace holdfast::conformance
