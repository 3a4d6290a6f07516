// The client and an etcd that wants a password, a certificate, or both.

#include <gtest/gtest.h>

#include <cstdlib>

#include "etcd/test_calls.h"
#include "etcd/test_etcd.h"
#include "net/tls/test_certificate.h"

namespace holdfast::etcd {
namespace {

using Kind = Failure::Kind;

// An etcd with the users root (everything) and guest (nothing).
class ClientAuth : public testing::Test {
  protected:
    void SetUp() override {
        HOLDFAST_NEEDS_ETCD();
        if (::access("/usr/bin/etcdctl", X_OK) != 0) {
            GTEST_SKIP() << "SKIPPED: there is no etcdctl on this machine (etcd-client of Debian)";
        }
        etcd_ = std::make_unique<TestEtcd>();
        for (const char* command :
             {"user add root:secret", "role add root", "user grant-role root root",
              "user add guest:guest", "auth enable"}) {
            const std::string line =
                fmt::format("ETCDCTL_API=3 etcdctl --endpoints={} {} >/dev/null",
                            etcd_->member(0).to_text(), command);
            ASSERT_EQ(std::system(line.c_str()), 0) << line;
        }
    }

    [[nodiscard]] ClientSettings as(std::string user, std::string password) const {
        ClientSettings settings = etcd_->settings();
        settings.user = std::move(user);
        settings.password = std::move(password);
        return settings;
    }

    std::unique_ptr<TestEtcd> etcd_;
};

TEST_F(ClientAuth, ShowsAToken) {
    TestCalls calls(as("root", "secret"));
    const auto put = calls.put("k", "v");
    ASSERT_TRUE(put) << put.error().message;
    const auto lease = calls.grant(std::chrono::seconds(60));
    ASSERT_TRUE(lease);
    EXPECT_TRUE(calls.keep_alive(lease->id));
    std::vector<std::string> seen;
    calls.client().watch(
        "k", "", put->revision,
        [&](Revision, const auto& events) { seen.push_back(events.at(0).entry.value); },
        [](const Failure& failure) { ADD_FAILURE() << failure.message; });
    EXPECT_TRUE(calls.run_until([&] { return !seen.empty(); }));
}

TEST_F(ClientAuth, AuthenticatesOnceForManyCalls) {
    TestCalls calls(as("root", "secret"));
    int answered = 0;
    for (int i = 0; i < 20; ++i) {
        calls.client().range({.key = "k"}, TestCalls::patience, [&](const auto& answer) {
            EXPECT_TRUE(answer) << answer.error().message;
            ++answered;
        });
    }
    EXPECT_TRUE(calls.run_until([&] { return answered == 20; }));
}

TEST_F(ClientAuth, SaysThatUserOrPasswordAreWrong) {
    for (const auto& settings : {as("root", "wrong"), as("nobody", "secret"), as("", "")}) {
        TestCalls calls(settings);
        const auto put = calls.put("k", "v");
        ASSERT_FALSE(put);
        EXPECT_EQ(put.error().kind, Kind::rejected) << put.error().message;
    }
}

TEST_F(ClientAuth, SaysThatAUserHasNoRight) {
    TestCalls calls(as("guest", "guest"));
    const auto put = calls.put("k", "v");
    ASSERT_FALSE(put);
    EXPECT_EQ(put.error().kind, Kind::rejected) << put.error().message;
    std::optional<Failure> end;
    calls.client().watch(
        "k", "", 0, [](Revision, const auto&) {}, [&](Failure failure) { end = failure; });
    ASSERT_TRUE(calls.run_until([&] { return end.has_value(); }));
    EXPECT_EQ(end->kind, Kind::rejected) << end->message;
}

TEST_F(ClientAuth, AuthenticatesAgainWhenEtcdHasForgottenTheToken) {
    TestCalls calls(as("root", "secret"));
    const auto first = calls.put("k", "v");
    ASSERT_TRUE(first) << first.error().message;
    // Tokens of this kind are only in the memory of etcd.
    etcd_->kill(0);
    etcd_->start(0);
    ASSERT_TRUE(etcd_->wait(0)) << etcd_->log(0);
    std::optional<Answer<RangeAnswer>> read;
    ASSERT_TRUE(calls.run_until([&] {
        read = calls.range({.key = "k"});
        return read->has_value() || read->error().kind == Kind::rejected;
    }));
    ASSERT_TRUE(*read) << read->error().message;
    EXPECT_EQ((*read)->found.at(0).value, "v");
}

TEST_F(ClientAuth, ShowsARenewedPassword) {
    TestCalls calls(as("root", "secret"));
    ASSERT_TRUE(calls.put("k", "v"));
    const std::string command = fmt::format(
        "ETCDCTL_API=3 etcdctl --endpoints={} --user root:secret --interactive=false "
        "user passwd root <<< changed >/dev/null",
        etcd_->member(0).to_text());
    ASSERT_EQ(std::system(("bash -c '" + command + "'").c_str()), 0);
    // etcd forgets the tokens of a user whose password was changed.
    const auto refused = calls.put("k", "v");
    ASSERT_FALSE(refused);
    calls.client().renew(nullptr, "changed");
    const auto put = calls.put("k", "v");
    EXPECT_TRUE(put) << put.error().message;
}

TEST_F(ClientAuth, OfAnEtcdThatAsksNobodyIsNotNeeded) {
    const TestEtcd open;
    ClientSettings settings = open.settings();
    settings.user = "root";
    settings.password = "secret";
    TestCalls calls(settings);
    const auto put = calls.put("k", "v");
    EXPECT_TRUE(put) << put.error().message;
}

// An etcd that shows `own_` and trusts clients that show it, too.
class ClientTls : public testing::Test {
  protected:
    void SetUp() override {
        HOLDFAST_NEEDS_ETCD();
        etcd_ = std::make_unique<TestEtcd>(TestEtcd::Options{
            .certificate = own_.files(), .ca_file = own_.files().certificate_file});
        settings_ = etcd_->settings();
        settings_.is_tls = true;
        settings_.ca_file = own_.files().certificate_file;
        settings_.certificate = own_.files();
    }

    void expect_failure(const ClientSettings& settings, Kind kind, std::string_view text) {
        TestCalls calls(settings);
        const auto answer = calls.put("k", "v");
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().kind, kind) << answer.error().message;
        EXPECT_NE(answer.error().message.find(text), std::string::npos) << answer.error().message;
    }

    net::TestCertificate own_{"etcd"};
    net::TestCertificate other_{"other"};
    std::unique_ptr<TestEtcd> etcd_;
    ClientSettings settings_;
};

TEST_F(ClientTls, ShowsItsCertificate) {
    TestCalls calls(settings_);
    const auto put = calls.put("k", std::string(1'000'000, 'x'));
    ASSERT_TRUE(put) << put.error().message;
    const auto read = calls.range({.key = "k"});
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->found.at(0).value.size(), 1'000'000U);
}

TEST_F(ClientTls, SaysThatEtcdWantsACertificate) {
    settings_.certificate = {};
    expect_failure(settings_, Kind::rejected, "refuses our TLS");
    settings_.certificate = other_.files();
    expect_failure(settings_, Kind::rejected, "refuses our TLS");
}

TEST_F(ClientTls, DoesNotTrustAnother) {
    settings_.ca_file = other_.files().certificate_file;
    expect_failure(settings_, Kind::rejected, "cannot be trusted");
}

// etcd has a new certificate, and what it trusts is new, too.
TEST_F(ClientTls, ShowsAndTrustsRenewedCertificates) {
    TestCalls calls(settings_);
    ASSERT_TRUE(calls.put("k", "v"));
    const auto days_left = [&] {
        return *net::end_of_certificate(calls.client().trust()->native()) -
               std::chrono::system_clock::now();
    };
    EXPECT_GT(days_left(), std::chrono::seconds(0));
    own_.renew("etcd");
    etcd_->kill(0);
    etcd_->start(0);
    ASSERT_TRUE(etcd_->wait(0)) << etcd_->log(0);
    const auto refused = calls.put("k", "v");
    ASSERT_FALSE(refused);
    auto trust = Client::load_trust(settings_);
    ASSERT_TRUE(trust) << trust.error().message;
    calls.client().renew(*trust, "");
    const auto put = calls.put("k", "v");
    EXPECT_TRUE(put) << put.error().message;
}

TEST_F(ClientTls, SaysThatEtcdMayWantTls) {
    settings_.is_tls = false;
    expect_failure(settings_, Kind::not_done, "perhaps it wants TLS");
}

TEST_F(ClientTls, SaysThatEtcdMayBePlain) {
    const TestEtcd plain;
    settings_.members = plain.members();
    expect_failure(settings_, Kind::not_done, "does not speak TLS");
}

TEST(ClientSettings, WithWrongFilesAreRefused) {
    net::EventLoop loop;
    const auto client = Client::open(
        loop, {.members = {{.host = "h"}}, .is_tls = true, .ca_file = "/no/such/file"});
    ASSERT_FALSE(client);
    EXPECT_NE(client.error().message.find("/no/such/file"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::etcd
