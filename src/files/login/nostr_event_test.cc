#include "files/login/nostr_event.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/crypto.h"
#include "files/login/test_nostr.h"
#include "files/tree/test_tree.h"

namespace holdfast::files::testing {
namespace {

constexpr std::int64_t now_s = 1'736'726'400;
constexpr const char* url = "http://127.0.0.1:8081/auth/session";
constexpr const char* other_url = "http://localhost:8081/auth/session";

class NostrTest : public ::testing::Test {
  protected:
    std::string verify(const std::string& json) const {
        const std::vector<std::string> owners{NostrSigner(9).public_key(), signer_.public_key()};
        const std::vector<std::string> urls{url, other_url};
        const auto event = verify_nostr_event(json, {.urls = urls,
                                                     .method = "POST",
                                                     .owner_keys = owners,
                                                     .now = service::WallTime{1'736'726'400s}});
        return event ? "ok" : std::string(to_text(event.error().fault));
    }
    std::string verify(const NostrEvent& event) const { return verify(to_json(event)); }
    [[nodiscard]] NostrEvent login() const { return signer_.sign_login(url, now_s); }

    NostrSigner signer_{7};
};

TEST_F(NostrTest, LetsTheOwnerIn) {
    EXPECT_EQ(verify(login()), "ok");
    EXPECT_EQ(verify(NostrSigner(9).sign_login(url, now_s)), "ok");
}

TEST_F(NostrTest, LetsNobodyElseIn) {
    EXPECT_EQ(verify(NostrSigner(8).sign_login(url, now_s)), "Unauthorized");
}

TEST_F(NostrTest, IsForOneMinuteEitherWay) {
    EXPECT_EQ(verify(signer_.sign_login(url, now_s - 60)), "ok");
    EXPECT_EQ(verify(signer_.sign_login(url, now_s - 61)), "Invalid auth event");
    EXPECT_EQ(verify(signer_.sign_login(url, now_s + 60)), "ok");
    EXPECT_EQ(verify(signer_.sign_login(url, now_s + 61)), "Invalid auth event");
    EXPECT_EQ(verify(signer_.sign_login(url, INT64_MIN)), "Invalid auth event");
    EXPECT_EQ(verify(signer_.sign_login(url, INT64_MAX)), "Invalid auth event");
}

TEST_F(NostrTest, IsForThisRequest) {
    const auto with_tags = [&](std::vector<std::vector<std::string>> tags) {
        return verify(
            signer_.sign({.created_s = now_s, .kind = nostr_auth_kind, .tags = std::move(tags)}));
    };
    EXPECT_EQ(with_tags({{"x"}, {"method", "POST"}, {"u", url, "more"}, {}}), "ok");
    EXPECT_EQ(with_tags({{"u", other_url}, {"method", "POST"}}), "ok");
    for (const std::string& wrong :
         {std::string("http://elsewhere/auth/session"), std::string(url) + "/",
          std::string(url) + "?a", std::string("http://127.0.0.1:8081/"),
          std::string("https://127.0.0.1:8081/auth/session"), std::string()}) {
        EXPECT_EQ(with_tags({{"u", wrong}, {"method", "POST"}}), "Invalid auth event") << wrong;
    }
    EXPECT_EQ(with_tags({{"u", url}, {"method", "GET"}}), "Invalid auth event");
    EXPECT_EQ(with_tags({{"u", url}, {"method", "post"}}), "Invalid auth event");
    EXPECT_EQ(with_tags({{"u", url}}), "Invalid auth event");
    EXPECT_EQ(with_tags({{"method", "POST"}}), "Invalid auth event");
    EXPECT_EQ(with_tags({{"u"}, {"method", "POST"}}), "Invalid auth event");
    EXPECT_EQ(with_tags({{"u", "http://x"}, {"u", url}, {"method", "POST"}}), "Invalid auth event");
    EXPECT_EQ(with_tags({}), "Invalid auth event");
    NostrEvent other_kind = login();
    other_kind.kind = 1;
    EXPECT_EQ(verify(signer_.sign(other_kind)), "Invalid auth event");
}

TEST_F(NostrTest, CannotBeChangedAfterwards) {
    NostrEvent event = login();
    event.content = "changed";
    EXPECT_EQ(verify(event), "Invalid signature");
    event.id = base::sha256_hex(canonical_text(event));
    EXPECT_EQ(verify(event), "Invalid signature");
    event = login();
    for (std::size_t at = 0; at < event.signature.size(); at += 9) {
        NostrEvent changed = event;
        changed.signature[at] = changed.signature[at] == '0' ? '1' : '0';
        EXPECT_EQ(verify(changed), "Invalid signature") << at;
    }
    // The owner's key over a stranger's signature.
    event = NostrSigner(8).sign_login(url, now_s);
    event.public_key = signer_.public_key();
    event.id = base::sha256_hex(canonical_text(event));
    EXPECT_EQ(verify(event), "Invalid signature");
}

TEST_F(NostrTest, IsAnEventInTheFirstPlace) {
    const std::string good = to_json(login());
    for (std::size_t size = 0; size < good.size(); ++size) {
        EXPECT_EQ(verify(good.substr(0, size)), "Invalid Nostr event") << size;
    }
    EXPECT_EQ(verify(good + "x"), "Invalid Nostr event");
    EXPECT_EQ(verify(R"({"id":5})"), "Invalid Nostr event");
    EXPECT_EQ(verify("[]"), "Invalid Nostr event");
    NostrEvent event = login();
    event.id[0] = 'G';
    EXPECT_EQ(verify(event), "Invalid signature");
    event = login();
    event.id.clear();
    EXPECT_EQ(verify(event), "Invalid signature");
    std::string without_id = good;
    without_id.erase(1, without_id.find(','));
    EXPECT_EQ(verify(without_id), "Invalid signature");
    event = login();
    event.signature += "00";
    EXPECT_EQ(verify(event), "Invalid Nostr event");
    event = login();
    event.public_key.pop_back();
    EXPECT_EQ(verify(event), "Invalid Nostr event");
}

// The scopes of a login, in the order of its tags.
TEST(NostrScope, IsWhatALoginAsksFor) {
    using Tags = std::vector<std::vector<std::string>>;
    const auto scope_of = [](Tags tags) -> std::string {
        tags.push_back({"method", "POST"});
        const auto permission = permission_of({.tags = std::move(tags)});
        if (!permission) return permission.error().message;
        return *permission == Permission::read ? "read" : "read and write";
    };
    EXPECT_EQ(scope_of({}), "read and write");
    EXPECT_EQ(scope_of({{"scope", "read"}}), "read");
    EXPECT_EQ(scope_of({{"scope", "read"}, {"scope", "write"}}), "read and write");
    EXPECT_EQ(scope_of({{"scope", "write", "read"}}), "read and write");
    EXPECT_EQ(scope_of({{"scope", "read"}, {"scope", "admin"}}),
              "the scope 'admin' is not known; it must be read or write");
    EXPECT_EQ(scope_of({{"scope"}}), "the tag scope must be read or write");
    EXPECT_EQ(scope_of({{"scope", ""}}), "the scope '' is not known; it must be read or write");
    EXPECT_EQ(scope_of({{"scope", "write"}}), "the scope write needs the scope read beside it");
}

TEST_F(NostrTest, TakesAKeyThatIsNoneForAWrongSignature) {
    NostrEvent event = login();
    event.public_key = std::string(64, 'f');
    event.id = base::sha256_hex(canonical_text(event));
    EXPECT_EQ(verify(event), "Invalid signature");
}

TEST_F(NostrTest, SpellsEventsInOneWay) {
    const NostrEvent event{.public_key = "ab",
                           .created_s = 5,
                           .kind = 1,
                           .tags = {{"a", "b\"c"}, {}, {"\\"}},
                           .content = "\n\r\t\b\f\"\\/\x01\x7F\xC3\xA4\xF0\x9F\x98\x80"};
    EXPECT_EQ(canonical_text(event),
              "[0,\"ab\",5,1,[[\"a\",\"b\\\"c\"],[],[\"\\\\\"]],"
              "\"\\n\\r\\t\\b\\f\\\"\\\\/\x01\x7F\xC3\xA4\xF0\x9F\x98\x80\"]");
    EXPECT_EQ(canonical_text({.public_key = "ab"}), "[0,\"ab\",0,0,[],\"\"]");
}

TEST_F(NostrTest, ReadsWhatOthersEscape) {
    NostrEvent event = login();
    event.content = "a/\xC3\xA4\xF0\x9F\x98\x80\n";
    event = signer_.sign(event);
    std::string json = to_json(event);
    const std::string plain = "a/\xC3\xA4\xF0\x9F\x98\x80\\n";
    const std::size_t at = json.find(plain);
    ASSERT_NE(at, std::string::npos);
    json.replace(at, plain.size(), "\\u0061\\/\\u00e4\\ud83d\\ude00\\u000a");
    EXPECT_EQ(verify(json), "ok");
}

// An event that somebody else's program has signed: the example of NIP-98, as it was when the tag
// was still called `url`. (The later text changed the tag and kept the signature.)
TEST_F(NostrTest, AgreesWithOthersOnWhatIsSigned) {
    const NostrEvent event{
        .public_key = "63fe6318dc58583cfe16810f86dd09e18bfd76aabc24a0081ce2856f330504ed",
        .created_s = 1'682'327'852,
        .kind = nostr_auth_kind,
        .tags = {{"url", "https://api.snort.social/api/v1/n5sp/list"}, {"method", "GET"}}};
    const std::string id = base::sha256_hex(canonical_text(event));
    EXPECT_EQ(id, "fe964e758903360f28d8424d092da8494ed207cba823110be3a57dfe4b578734");
    EXPECT_TRUE(is_signed(
        {.public_key = event.public_key,
         .message = id,
         .signature = "5ed9d8ec958bc854f997bdc24ac337d005af372324747efe4a00e24f4c30437f"
                      "f4dd8308684bed467d9d6be3e5a517bb43b1732cc7d33949a3aaf86705c22184"}));
}

// From the test vectors of BIP 340.
TEST(SchnorrSignature, IsThatOfTheStandard) {
    const std::string zeros(64, '0');
    const std::string key = "f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9";
    const std::string signature =
        "e907831f80848d1069a5371b402410364bdf1c5f8307b0084c55f1ce2dca8215"
        "25f66a4a85ea8b71e482a74f382d2ce5ebeee8fdb2172f477df4900d310536c0";
    EXPECT_TRUE(is_signed({.public_key = key, .message = zeros, .signature = signature}));
    EXPECT_TRUE(is_signed(
        {.public_key = "dff1d77f2a671c5f36183726db2341be58feae1da2deced843240f7b502ba659",
         .message = "243f6a8885a308d313198a2e03707344a4093822299f31d0082efa98ec4e6c89",
         .signature = "6896bd60eeae296db48a229ff71dfe071bde413e6d43f917dc8dcf8c78de3341"
                      "8906d11ac976abccb20b091292bff4ea897efcb639ea871cfa95f6de339e4b0a"}));
    // A public key that is not on the curve.
    const std::string no_key = "eefdea4cdb677750a420fee807eacf21eb9898ae79b9768766e4faa04a2d4a34";
    EXPECT_FALSE(is_signed({.public_key = no_key, .message = zeros, .signature = signature}));
    EXPECT_FALSE(is_public_key(no_key));
    EXPECT_TRUE(is_public_key(key));
    EXPECT_FALSE(is_public_key(key + "0"));
    EXPECT_FALSE(is_signed({.public_key = key, .message = key, .signature = signature}));
    EXPECT_FALSE(is_signed({.public_key = key, .message = "", .signature = signature}));
}

class UsedEventsTest : public TreeTest {
  protected:
    void SetUp() override {
        TreeTest::SetUp();
        open_events();
    }
    void open_events(std::size_t events_max = UsedEvents::events_max_default) {
        auto used = UsedEvents::open(tree_->own_folder(), events_max);
        ASSERT_TRUE(used) << used.error().message;
        used_ = std::move(*used);
    }

    const service::WallTime now_{std::chrono::seconds(now_s)};
    NostrSigner signer_{7};
    std::unique_ptr<UsedEvents> used_;
};

TEST_F(UsedEventsTest, CountOnceEvenOverARestart) {
    const NostrEvent one = signer_.sign_login(url, now_s);
    const NostrEvent two = signer_.sign_login(url, now_s + 1);
    EXPECT_EQ(used_->use(one, now_), true);
    EXPECT_EQ(used_->use(one, now_), false);
    open_events();
    EXPECT_EQ(used_->use(one, now_ + 60s), false);
    EXPECT_EQ(used_->use(two, now_), true);
}

TEST_F(UsedEventsTest, AreForgottenWhenTheyAreTooOldAnyway) {
    ASSERT_EQ(used_->use(signer_.sign_login(url, now_s), now_), true);
    ASSERT_EQ(used_->use(signer_.sign_login(url, now_s + 50), now_), true);
    EXPECT_EQ(used_->size(), 2U);
    ASSERT_EQ(used_->use(signer_.sign_login(url, now_s + 61), now_ + 61s), true);
    EXPECT_EQ(used_->size(), 2U);
    open_events();
    EXPECT_EQ(used_->size(), 2U);
}

TEST_F(UsedEventsTest, HaveALimit) {
    open_events(2);
    ASSERT_EQ(used_->use(signer_.sign_login(url, now_s), now_), true);
    ASSERT_EQ(used_->use(signer_.sign_login(url, now_s + 1), now_), true);
    const auto third = used_->use(signer_.sign_login(url, now_s + 2), now_);
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().message, "there have been too many logins within a minute");
}

}  // namespace
}  // namespace holdfast::files::testing
