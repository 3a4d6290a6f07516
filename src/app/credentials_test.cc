#include "app/credentials.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/crypto.h"
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

// The name of the token with this secret; `nobody` if there is none.
std::string client_with(const Credentials& credentials, std::string_view secret) {
    const auto token = credentials.tokens().current()->find(secret);
    return token ? token->name() : "nobody";
}

// Why the file is refused; empty: it is not.
std::string fault_of(const std::string& path) {
    const auto credentials = Credentials::read({.auth_token_file = path});
    return credentials ? "" : credentials.error().message;
}

TEST(Credentials, AreNoneUnlessFilesAreNamed) {
    const auto credentials = Credentials::read({}).value();
    EXPECT_TRUE(credentials->tokens().current()->is_empty());
    EXPECT_EQ(credentials->tls(), nullptr);
    EXPECT_TRUE(credentials->read_again());
}

TEST(Credentials, ATokenIsTheFirstLineOfItsFileWithoutTheBlanksAroundIt) {
    for (const char* text : {"s3cret~+/=", "s3cret~+/=\n", "s3cret~+/=\r\n", "s3cret~+/=\nmore\n",
                             " s3cret~+/= \n", "\n\r\n\ts3cret~+/=\t\r\nmore\n"}) {
        const TokenFile file(text);
        const auto credentials = Credentials::read({.auth_token_file = file.path()}).value();
        EXPECT_EQ(client_with(*credentials, "s3cret~+/="), "auth") << text;
    }
    const std::string longest(4096, 'x');
    const TokenFile file(longest + "\r\n");
    const auto credentials = Credentials::read({.auth_token_file = file.path()}).value();
    EXPECT_EQ(client_with(*credentials, longest), "auth");
}

TEST(Credentials, AFileWithoutATokenIsNamed) {
    for (const char* text : {"", "\n", "\r\n", " \t\n \n"}) {
        const TokenFile file(text);
        EXPECT_THAT(fault_of(file.path()), AllOf(HasSubstr("--auth-token-file"),
                                                 HasSubstr(file.path()), HasSubstr("empty")));
    }
    EXPECT_THAT(fault_of("/no/such/file"),
                AllOf(HasSubstr("--auth-token-file"), HasSubstr("/no/such/file: No such file")));
    EXPECT_THAT(fault_of("/"), HasSubstr("Is a directory"));
    const auto admin = Credentials::read({.admin_token_file = "/no/such/file"});
    ASSERT_FALSE(admin);
    EXPECT_THAT(admin.error().message,
                AllOf(HasSubstr("--admin-token-file"), HasSubstr("/no/such/file")));
}

TEST(Credentials, ATokenThatNoHeaderCarriesIsRefusedAndNotRepeated) {
    for (const std::string& text : {std::string("se cret"), std::string("se\tcret"),
                                    std::string("secr\xc3\xa9t"), std::string(4097, 's')}) {
        const TokenFile file(text);
        EXPECT_THAT(fault_of(file.path()),
                    AllOf(HasSubstr(file.path()), Not(HasSubstr("secr")), Not(HasSubstr("sss"))));
    }
}

TEST(Credentials, ATokenThatTravelsInNoHeaderMayBeAnyLine) {
    const TokenFile file("se cr\xc3\xa9t\n");
    const ServeOptions alone{.http_address = no_address,
                             .dflockd_address = "127.0.0.1:0",
                             .auth_token_file = file.path()};
    EXPECT_EQ(client_with(*Credentials::read(alone).value(), "se cr\xc3\xa9t"), "auth");
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
    EXPECT_EQ(client_with(*credentials, "one"), "auth");
    ASSERT_TRUE(credentials->read_again());
    EXPECT_EQ(client_with(*credentials, "one"), "nobody");
    EXPECT_EQ(client_with(*credentials, "two"), "auth");
    EXPECT_EQ(client_with(*credentials, "root"), "admin");
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
        EXPECT_EQ(client_with(*credentials, "one"), "auth");
        EXPECT_EQ(client_with(*credentials, "two"), "nobody");
        EXPECT_EQ(credentials->tls()->current(), context);
    };
    auth.write("two");
    admin.write("");
    stay(admin.path());
    admin.write("boss");
    std::ofstream(certificate.files().key_file) << "nonsense";
    stay(certificate.files().key_file);
}

std::string line_of(const std::string& name, const std::string& rights, const std::string& secret) {
    return name + " " + rights + " " + rights::to_text(base::sha256(secret)) + "\n";
}

TEST(Credentials, OfAFileAreReadAgainOrStayAsTheyWere) {
    const TokenFile file(line_of("ci", "lock deploy/*", "one"));
    const auto credentials = Credentials::read({.tokens_file = file.path()}).value();
    EXPECT_EQ(client_with(*credentials, "one"), "ci");
    EXPECT_FALSE(credentials->tokens().current()->is_open());
    file.write(line_of("ci", "lock deploy/*", "two") + "ui writes s3cret\n");
    const auto again = credentials->read_again();
    ASSERT_FALSE(again);
    EXPECT_THAT(again.error().message, AllOf(HasSubstr("--tokens " + file.path() + ", line 2: "),
                                             Not(HasSubstr("s3cret"))));
    EXPECT_EQ(client_with(*credentials, "one"), "ci");
    file.write("");
    ASSERT_TRUE(credentials->read_again());
    EXPECT_EQ(client_with(*credentials, "one"), "nobody");
    EXPECT_FALSE(credentials->tokens().current()->is_open()) << "nobody is let in";
}

TEST(Credentials, OfAFileThatIsWrongAreRefused) {
    const auto refusal = [](const ServeOptions& options) {
        const auto credentials = Credentials::read(options);
        return credentials ? "" : credentials.error().message;
    };
    EXPECT_THAT(refusal({.tokens_file = "/no/such/file"}),
                HasSubstr("--tokens: cannot read /no/such/file: No such file"));
    const TokenFile large(std::string(rights::token_file_bytes_max + 1, '#'));
    EXPECT_THAT(refusal({.tokens_file = large.path()}), HasSubstr("more than 1048576 bytes"));
    const TokenFile auth("one"), tokens(line_of("ci", "lock *", "one"));
    EXPECT_THAT(refusal({.auth_token_file = auth.path(), .tokens_file = tokens.path()}),
                HasSubstr("the secret of ci is also that of --auth-token-file"));
}

TEST(TokenSource, MayBeReplacedWhileOthersReadIt) {
    TokenSource source({.auth = "0"});
    std::vector<std::thread> readers;
    readers.reserve(3);
    for (int i = 0; i < 3; ++i) {
        readers.emplace_back([&] {
            while (source.version() < 100) EXPECT_FALSE(source.current()->is_open());
        });
    }
    for (int round = 1; round <= 100; ++round) source.replace({.auth = std::to_string(round)});
    for (auto& reader : readers) reader.join();
    EXPECT_NE(source.current()->find("100"), nullptr);
}

}  // namespace
}  // namespace holdfast::app
