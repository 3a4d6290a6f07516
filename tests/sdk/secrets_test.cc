// Tokens and certificates, between the client and the real server.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "net/tls/test_certificate.h"
#include "test_server.h"

namespace holdfast::sdk::testing {
namespace {

class SecretFile {
  public:
    explicit SecretFile(const std::string& text) {
        std::ofstream(path_) << text << '\n';
        ::chmod(path_.c_str(), 0600);
    }
    ~SecretFile() { std::filesystem::remove(path_); }
    SecretFile(const SecretFile&) = delete;
    SecretFile& operator=(const SecretFile&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    const std::string path_ =
        ::testing::TempDir() + "holdfast_sdk_secret_" + std::to_string(::getpid());
};

TEST(Secrets, AreShownToAServerThatWantsThem) {
    const SecretFile secret("a-secret-of-some-length-0123456789");
    TestServer server({.auth_token_file = secret.path()});
    ClientOptions options = server.options();
    EXPECT_TRUE(failed_with<NotPermitted>(Client::open(options)->try_acquire(named("x"))));
    options.token = "another-secret-of-some-length-0123456789";
    EXPECT_TRUE(failed_with<NotPermitted>(Client::open(options)->try_acquire(named("x"))));
    options.token.clear();
    options.token_file = secret.path();
    Client client = *Client::open(options);
    EXPECT_EQ(to_note(client.try_acquire(named("x"))), "ok");
    EXPECT_EQ(to_note(client.observe(
                  "x", [](const auto&) {},
                  [] {
                      std::stop_source stop;
                      stop.request_stop();
                      return stop.get_token();
                  }())),
              "ok");
}

TEST(Secrets, AreSafeOverTls) {
    const net::TestCertificate certificate;
    TestServer server({.tls = certificate.files()});
    ClientOptions options = server.options();
    options.ca_file = certificate.files().certificate_file;
    Client client = *Client::open(options);
    auto guard = client.hold(named("x"), 0s, {.every = 50ms});
    ASSERT_TRUE(guard) << to_note(guard);
    const auto first = guard->lease().lasts_until;
    EXPECT_TRUE(eventually([&] { return guard->lease().lasts_until > first; }));
    EXPECT_TRUE(guard->release());

    const net::TestCertificate other;
    options.ca_file = other.files().certificate_file;
    const auto refused = Client::open(options)->try_acquire(named("x"));
    ASSERT_TRUE(failed_with<ServerUnavailable>(refused));
    EXPECT_NE(to_note(refused).find("is not accepted"), std::string::npos) << to_note(refused);
}

}  // namespace
}  // namespace holdfast::sdk::testing
