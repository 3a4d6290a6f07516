#include "app/credentials.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "net/tls/test_certificate.h"

namespace holdfast::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A file for the length of a test.
class TokenFile {
  public:
    explicit TokenFile(const std::string& text) {
        static int count = 0;
        path_ = ::testing::TempDir() + "holdfast_token_" + std::to_string(::getpid()) + "_" +
                std::to_string(count++);
        write(text);
        ::chmod(path_.c_str(), 0600);
    }
    ~TokenFile() { ::unlink(path_.c_str()); }
    TokenFile(const TokenFile&) = delete;
    TokenFile& operator=(const TokenFile&) = delete;

    void write(const std::string& text) const { std::ofstream(path_) << text; }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

std::string auth_token_of(const std::string& path) {
    const auto credentials = Credentials::read({.auth_token_file = path});
    return credentials ? (*credentials)->tokens().current()->auth : credentials.error().message;
}

TEST(Credentials, AreNoneUnlessFilesAreNamed) {
    const auto credentials = Credentials::read({}).value();
    EXPECT_EQ(credentials->tokens().current()->auth, "");
    EXPECT_EQ(credentials->tokens().current()->admin, "");
    EXPECT_EQ(credentials->tls(), nullptr);
    EXPECT_TRUE(credentials->read_again());
}

TEST(Credentials, ATokenIsTheFirstLineOfItsFileWithoutTheBlanksAroundIt) {
    for (const char* text : {"s3cret~+/=", "s3cret~+/=\n", "s3cret~+/=\r\n", "s3cret~+/=\nmore\n",
                             " s3cret~+/= \n", "\n\r\n\ts3cret~+/=\t\r\nmore\n"}) {
        EXPECT_EQ(auth_token_of(TokenFile(text).path()), "s3cret~+/=") << text;
    }
    const std::string longest(4096, 'x');
    EXPECT_EQ(auth_token_of(TokenFile(longest + "\r\n").path()), longest);
}

TEST(Credentials, AFileWithoutATokenIsNamed) {
    for (const char* text : {"", "\n", "\r\n", " \t\n \n"}) {
        const TokenFile file(text);
        EXPECT_THAT(auth_token_of(file.path()), AllOf(HasSubstr("--auth-token-file"),
                                                      HasSubstr(file.path()), HasSubstr("empty")));
    }
    EXPECT_THAT(auth_token_of("/no/such/file"),
                AllOf(HasSubstr("--auth-token-file"), HasSubstr("/no/such/file: No such file")));
    EXPECT_THAT(auth_token_of("/"), HasSubstr("Is a directory"));
    const auto admin = Credentials::read({.admin_token_file = "/no/such/file"});
    ASSERT_FALSE(admin);
    EXPECT_THAT(admin.error().message,
                AllOf(HasSubstr("--admin-token-file"), HasSubstr("/no/such/file")));
}

TEST(Credentials, ATokenThatNoHeaderCarriesIsRefusedAndNotRepeated) {
    for (const std::string& text : {std::string("se cret"), std::string("se\tcret"),
                                    std::string("secr\xc3\xa9t"), std::string(4097, 's')}) {
        const TokenFile file(text);
        EXPECT_THAT(auth_token_of(file.path()),
                    AllOf(HasSubstr(file.path()), Not(HasSubstr("secr")), Not(HasSubstr("sss"))));
    }
}

TEST(Credentials, ATokenThatTravelsInNoHeaderMayBeAnyLine) {
    const TokenFile file("se cr\xc3\xa9t\n");
    const ServeOptions alone{.http_address = no_address,
                             .dflockd_address = "127.0.0.1:0",
                             .auth_token_file = file.path()};
    EXPECT_EQ(Credentials::read(alone).value()->tokens().current()->auth, "se cr\xc3\xa9t");
}

TEST(Credentials, AreReadAgain) {
    const TokenFile auth("one"), admin("root");
    net::TestCertificate certificate;
    const auto credentials = Credentials::read({.auth_token_file = auth.path(),
                                                .admin_token_file = admin.path(),
                                                .tls = certificate.files()})
                                 .value();
    const auto before = credentials->tls()->current();
    const auto version = credentials->tokens().version();
    auth.write("two");
    certificate.renew("second");
    EXPECT_EQ(credentials->tokens().current()->auth, "one");
    ASSERT_TRUE(credentials->read_again());
    EXPECT_EQ(credentials->tokens().current()->auth, "two");
    EXPECT_EQ(credentials->tokens().current()->admin, "root");
    EXPECT_NE(credentials->tokens().version(), version);
    EXPECT_NE(credentials->tls()->current(), before);
}

TEST(Credentials, StayAsTheyWereIfAnyFileIsBad) {
    const TokenFile auth("one"), admin("root");
    const net::TestCertificate certificate;
    const auto credentials = Credentials::read({.auth_token_file = auth.path(),
                                                .admin_token_file = admin.path(),
                                                .tls = certificate.files()})
                                 .value();
    const auto context = credentials->tls()->current();
    const auto version = credentials->tokens().version();
    const auto stay = [&](const std::string& named) {
        const auto again = credentials->read_again();
        ASSERT_FALSE(again);
        EXPECT_THAT(again.error().message, HasSubstr(named));
        EXPECT_EQ(credentials->tokens().version(), version);
        EXPECT_EQ(credentials->tokens().current()->auth, "one");
        EXPECT_EQ(credentials->tls()->current(), context);
    };
    auth.write("two");
    admin.write("");
    stay(admin.path());
    admin.write("boss");
    std::ofstream(certificate.files().key_file) << "nonsense";
    stay(certificate.files().key_file);
}

TEST(TokenSource, MayBeReplacedWhileOthersReadIt) {
    TokenSource source({.auth = "0"});
    std::vector<std::thread> readers;
    readers.reserve(3);
    for (int i = 0; i < 3; ++i) {
        readers.emplace_back([&] {
            while (source.version() < 100) EXPECT_FALSE(source.current()->auth.empty());
        });
    }
    for (int round = 1; round <= 100; ++round) source.replace({.auth = std::to_string(round)});
    for (auto& reader : readers) reader.join();
    EXPECT_EQ(source.current()->auth, "100");
}

}  // namespace
}  // namespace holdfast::app
