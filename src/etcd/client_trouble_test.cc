// The client when members refuse, stop, die, lose their quorum, or are full.

#include <gtest/gtest.h>

#include "etcd/test_calls.h"
#include "etcd/test_etcd.h"

namespace holdfast::etcd {
namespace {

using Kind = Failure::Kind;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A socket to which one can connect, and which says `greeting` to whoever connects first.
class Stranger {
  public:
    explicit Stranger(std::string greeting) : greeting_(std::move(greeting)) {
        socklen_t size = sizeof address_;
        address_.sin_family = AF_INET;
        address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address_), size), 0);
        EXPECT_EQ(::listen(socket_.get(), 10), 0);
        ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address_), &size);
        if (greeting_.empty()) return;
        thread_ = std::thread([this] {
            const base::Descriptor peer(::accept(socket_.get(), nullptr, nullptr));
            (void)!::send(peer.get(), greeting_.data(), greeting_.size(), MSG_NOSIGNAL);
            char byte = 0;
            while (::recv(peer.get(), &byte, 1, 0) > 0) {
            }
        });
    }
    ~Stranger() {
        ::shutdown(socket_.get(), SHUT_RDWR);
        if (thread_.joinable()) thread_.join();
    }
    Stranger(const Stranger&) = delete;
    Stranger& operator=(const Stranger&) = delete;

    [[nodiscard]] Member member() const {
        return {.host = "127.0.0.1", .port = std::to_string(ntohs(address_.sin_port))};
    }
    void close() { socket_ = base::Descriptor(); }

  private:
    const std::string greeting_;
    base::Descriptor socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address_{};
    std::thread thread_;
};

// Where nobody listens.
Member nobody() {
    Stranger stranger("");
    stranger.close();
    return stranger.member();
}

TEST(ClientTrouble, SaysThatARequestNeverLeftAndAsksAnotherMemberNext) {
    HOLDFAST_NEEDS_ETCD();
    const TestEtcd etcd;
    TestCalls calls({.members = {nobody(), etcd.member(0), nobody()}});
    const auto refused = calls.status();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Kind::not_done) << refused.error().message;
    const auto answered = calls.status();
    EXPECT_TRUE(answered) << answered.error().message;
    EXPECT_EQ(calls.client().current_member(), etcd.member(0));
}

TEST(ClientTrouble, FailsAllCallsOfAMemberThatCannotBeReachedButMovesOnOnce) {
    const Member first = nobody(), second = nobody(), third = nobody();
    TestCalls calls({.members = {first, second, third}});
    int failed = 0;
    for (int i = 0; i < 5; ++i) {
        calls.client().status(TestCalls::patience, [&](const auto& answer) {
            EXPECT_EQ(answer.error().kind, Kind::not_done);
            ++failed;
        });
    }
    ASSERT_TRUE(calls.run_until([&] { return failed == 5; }));
    EXPECT_EQ(calls.client().current_member(), second);
}

TEST(ClientTrouble, DoesNotStarveTheLoopWhenACallbackAsksAgainAtOnce) {
    TestCalls calls({.members = {nobody()}});
    int failed = 0;
    std::function<void(const Answer<StatusAnswer>&)> again = [&](const auto&) {
        ++failed;
        calls.client().status(TestCalls::patience, again);
    };
    calls.client().status(TestCalls::patience, again);
    calls.run_for(milliseconds(50));
    EXPECT_GT(failed, 0);
}

TEST(ClientTrouble, LooksNamesUp) {
    HOLDFAST_NEEDS_ETCD();
    const TestEtcd etcd;
    TestCalls calls({.members = {{.host = "no such host"},
                                 {.host = "localhost", .port = etcd.member(0).port}}});
    const auto unknown = calls.status();
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().kind, Kind::not_done);
    EXPECT_NE(unknown.error().message.find("has no address"), std::string::npos);
    const auto answered = calls.status();
    EXPECT_TRUE(answered) << answered.error().message;
}

TEST(ClientTrouble, SaysThatAServerDoesNotSpeakHttp2) {
    const Stranger stranger("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    TestCalls calls({.members = {stranger.member()}});
    const auto answer = calls.status();
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, Kind::not_done);
    EXPECT_NE(answer.error().message.find("does not speak HTTP/2"), std::string::npos)
        << answer.error().message;
}

TEST(ClientTrouble, GivesUpToConnectToAServerThatSaysNothing) {
    const Stranger stranger("");
    const ClientSettings settings{.members = {stranger.member()},
                                  .times = {.connect_timeout = milliseconds(100)}};
    TestCalls calls(settings);
    const auto late = calls.status();
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().kind, Kind::not_done);
    EXPECT_NE(late.error().message.find("no answer in time"), std::string::npos);
    // The timeout of the call counts while it waits for the connection, too.
    TestCalls patient({.members = {stranger.member()}});
    const auto given_up = patient.status(milliseconds(50));
    ASSERT_FALSE(given_up);
    EXPECT_EQ(given_up.error().kind, Kind::not_done);
}

TEST(ClientTrouble, AbandonsAMemberThatDoesNotAnswerInTime) {
    HOLDFAST_NEEDS_ETCD();
    const TestEtcd etcd({.members = 3});
    TestCalls calls(etcd.settings());
    ASSERT_TRUE(calls.status());
    std::optional<Failure> watch_end, patient_end;
    calls.client().watch(
        "k", "", 0, [](Revision, const auto&) {},
        [&](Failure failure) { watch_end = std::move(failure); });
    calls.run_for(milliseconds(50));
    etcd.stop(0);
    calls.client().status(TestCalls::patience, [&](const auto& answer) {
        ASSERT_FALSE(answer);
        patient_end = answer.error();
    });
    const auto late = calls.status(milliseconds(200));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().kind, Kind::unknown);
    EXPECT_NE(late.error().message.find(etcd.member(0).to_text()), std::string::npos);
    // Everything else on the connection is over, too.
    ASSERT_TRUE(calls.run_until([&] { return watch_end && patient_end; }));
    EXPECT_EQ(watch_end->kind, Kind::unknown);
    EXPECT_EQ(patient_end->kind, Kind::unknown);
    EXPECT_EQ(calls.client().current_member(), etcd.member(1));
    // The others may have to elect a leader first.
    ASSERT_TRUE(calls.run_until([&] { return calls.put("k", "v").has_value(); }));
    etcd.go_on(0);
}

TEST(ClientTrouble, EndsAWatchWhoseMemberDiesAndGoesOnAtAnother) {
    HOLDFAST_NEEDS_ETCD();
    TestEtcd etcd({.members = 3});
    TestCalls calls(etcd.settings());
    const auto first = calls.put("k", "1");
    ASSERT_TRUE(first);
    std::vector<std::string> seen;
    std::optional<Failure> end;
    const auto watch = [&](Revision start) {
        calls.client().watch(
            "k", "", start,
            [&](Revision, const std::vector<WatchEvent>& events) {
                for (const auto& one : events) seen.push_back(one.entry.value);
            },
            [&](Failure failure) { end = std::move(failure); });
    };
    watch(first->revision);
    ASSERT_TRUE(calls.run_until([&] { return seen.size() == 1; }));
    etcd.kill(0);
    ASSERT_TRUE(calls.run_until([&] { return end.has_value(); }));
    EXPECT_EQ(end->kind, Kind::unknown) << end->message;
    ASSERT_TRUE(calls.run_until([&] { return calls.put("k", "2").has_value(); }));
    watch(first->revision + 1);
    ASSERT_TRUE(calls.run_until([&] { return seen.size() >= 2; }));
    EXPECT_EQ(seen[1], "2");
}

TEST(ClientTrouble, NoticesThatAMemberIsSilentWhileOnlyAWatchWaits) {
    HOLDFAST_NEEDS_ETCD();
    const TestEtcd etcd;
    ClientSettings settings = etcd.settings();
    settings.times.ping_after = milliseconds(300);
    settings.times.ping_timeout = milliseconds(300);
    TestCalls calls(settings);
    ASSERT_TRUE(calls.status());
    std::optional<Failure> end;
    calls.client().watch(
        "k", "", 0, [](Revision, const auto&) {}, [&](Failure failure) { end = failure; });
    // A member that is alive answers the question.
    calls.run_for(milliseconds(700));
    EXPECT_FALSE(end) << end->message;
    etcd.stop(0);
    ASSERT_TRUE(calls.run_until([&] { return end.has_value(); }));
    EXPECT_EQ(end->kind, Kind::unknown);
    EXPECT_NE(end->message.find("no sign of life"), std::string::npos);
    etcd.go_on(0);
}

TEST(ClientTrouble, IsToldByAMemberThatHasLostItsQuorum) {
    HOLDFAST_NEEDS_ETCD();
    TestEtcd etcd({.members = 3});
    TestCalls calls({.members = {etcd.member(0)}});
    const auto lease = calls.grant(seconds(600));
    ASSERT_TRUE(lease);
    std::optional<Failure> end;
    calls.client().watch(
        "k", "", 0, [](Revision, const auto&) {}, [&](Failure failure) { end = failure; });
    etcd.kill(1);
    etcd.kill(2);
    ASSERT_TRUE(calls.run_until([&] { return end.has_value(); }));
    EXPECT_EQ(end->kind, Kind::unknown) << end->message;
    const auto renewed = calls.keep_alive(lease->id);
    ASSERT_FALSE(renewed);
    EXPECT_EQ(renewed.error().kind, Kind::unknown) << renewed.error().message;
}

TEST(ClientTrouble, SaysThatAnAnswerIsTooLargeAndStaysWithTheMember) {
    HOLDFAST_NEEDS_ETCD();
    const TestEtcd etcd;
    TestCalls calls({.members = {etcd.member(0), nobody()}});
    const std::string value(std::size_t{1} << 20U, 'x');
    for (int count = 10; count < 76; ++count) {
        ASSERT_TRUE(calls.put("large/" + std::to_string(count), value));
    }
    RangeRequest all{.key = "large/", .range_end = end_of_prefix("large/")};
    const auto refused = calls.range(all);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Kind::too_large) << refused.error().message;
    EXPECT_EQ(calls.client().current_member(), etcd.member(0));
    all.limit = 10;
    const auto answered = calls.range(all);
    ASSERT_TRUE(answered) << answered.error().message;
    EXPECT_EQ(answered->found.size(), 10U);
    EXPECT_EQ(calls.client().current_member(), etcd.member(0));
}

TEST(ClientTrouble, SaysThatTheDatabaseIsFull) {
    HOLDFAST_NEEDS_ETCD();
    const TestEtcd etcd({.arguments = {"--quota-backend-bytes=200000"}});
    TestCalls calls(etcd.settings());
    std::optional<Failure> failure;
    // etcd looks at the size of its file, which grows a while after the puts.
    for (int i = 0; i < 3000 && !failure; ++i) {
        const auto put = calls.put("k" + std::to_string(i), std::string(20'000, 'x'));
        if (!put) failure = put.error();
    }
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->kind, Kind::no_space) << failure->message;
    const auto granted = calls.grant(seconds(60));
    ASSERT_FALSE(granted);
    EXPECT_EQ(granted.error().kind, Kind::no_space) << granted.error().message;
    const auto removed = calls.transact({.then = {Operation::remove("k0")}});
    EXPECT_TRUE(removed) << removed.error().message;
    const auto status = calls.status();
    ASSERT_TRUE(status);
    ASSERT_FALSE(status->errors.empty());
    EXPECT_NE(status->errors[0].find("NOSPACE"), std::string::npos) << status->errors[0];
}

}  // namespace
}  // namespace holdfast::etcd
