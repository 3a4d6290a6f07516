// The real program with tokens and a certificate: who gets in, and how they are renewed.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "net/tls/test_certificate.h"
#include "server_process.h"

namespace holdfast::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TokenFile {
  public:
    explicit TokenFile(const std::string& token)
        : path_(::testing::TempDir() + "holdfast_e2e_" + std::to_string(::getpid()) + "_" + token) {
        write(token);
        ::chmod(path_.c_str(), 0600);
    }
    ~TokenFile() { ::unlink(path_.c_str()); }
    TokenFile(const TokenFile&) = delete;
    TokenFile& operator=(const TokenFile&) = delete;

    void write(const std::string& token) const { std::ofstream(path_) << token << "\n"; }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    const std::string path_;
};

class Secrets : public ::testing::TestWithParam<const char*> {
  protected:
    [[nodiscard]] std::vector<std::string> flags() const {
        return {"--http",
                "127.0.0.1:0",
                "--threads",
                GetParam(),
                "--log-level",
                "debug",
                "--auth-token-file",
                auth_.path(),
                "--admin-token-file",
                admin_.path(),
                "--tls-cert",
                certificate_.files().certificate_file,
                "--tls-key",
                certificate_.files().key_file};
    }

    // What curl prints, with the status in the end; 000 when it trusts nobody there.
    [[nodiscard]] std::string curl(const ServerProcess& server, const std::string& token,
                                   const char* path = "/lock") const {
        Command command{.words = {"curl", "--silent", "--noproxy", "*", "--write-out",
                                  "%{http_code}", "--cacert",
                                  certificate_.files().certificate_file}};
        if (!token.empty()) {
            command.words.insert(command.words.end(), {"-H", "Authorization: Bearer " + token});
        }
        command.words.push_back("https://" + server.address + path);
        return run(command).output;
    }

    const TokenFile auth_{"the-users-token"};
    const TokenFile admin_{"the-admins-token"};
    net::TestCertificate certificate_;
};
INSTANTIATE_TEST_SUITE_P(Threads, Secrets, ::testing::Values("1", "3"));

TEST_P(Secrets, LetThosePassWhoKnowThem) {
    ServerProcess server(flags());
    EXPECT_THAT(server.process.output(), HasSubstr("listening https 127.0.0.1:"));
    EXPECT_THAT(curl(server, "the-users-token"), HasSubstr("\n200"));
    EXPECT_THAT(curl(server, "the-admins-token"), HasSubstr("\n200"));
    EXPECT_THAT(curl(server, ""), AllOf(HasSubstr("a token is needed"), HasSubstr("\n401")));
    EXPECT_THAT(curl(server, "guess"), HasSubstr("\n401"));
    EXPECT_THAT(curl(server, "", "/healthz"), Not(HasSubstr("401")));
    EXPECT_THAT(server.ask("GET /lock").body, HasSubstr("https://")) << "plain HTTP is told so";
    server.process.signal(SIGTERM);
    EXPECT_EQ(server.process.wait(), 0);
    EXPECT_THAT(server.process.error(), AllOf(Not(HasSubstr("the-users-token\"")),
                                              Not(HasSubstr("guess")), HasSubstr("stopped")));
}

TEST_P(Secrets, AreRenewedBySighupUnlessTheyAreBad) {
    ServerProcess server(flags());
    EXPECT_THAT(curl(server, "the-users-token"), HasSubstr("\n200"));
    auth_.write("another-token");
    certificate_.renew("second");
    EXPECT_EQ(curl(server, "the-users-token"), "000") << "it shows the certificate it had";
    server.process.signal(SIGHUP);
    server.process.wait_for_error("\"reloaded\"");
    EXPECT_THAT(curl(server, "another-token"), HasSubstr("\n200"));
    EXPECT_THAT(curl(server, "the-users-token"), HasSubstr("\n401"));

    auth_.write("");
    server.process.signal(SIGHUP);
    EXPECT_THAT(server.process.wait_for_error("not reloaded"), HasSubstr(auth_.path()));
    EXPECT_THAT(curl(server, "another-token"), HasSubstr("\n200"));
    server.process.signal(SIGTERM);
    EXPECT_EQ(server.process.wait(), 0);
    EXPECT_THAT(server.process.error(), Not(HasSubstr("another-token")));
}

TEST(SecretFiles, ThatAreBadKeepTheServerFromStarting) {
    const TokenFile empty("");
    const net::TestCertificate one, other;
    struct Row {
        std::vector<std::string> flags;
        std::string named;
    };
    const Row rows[] = {
        {{"--auth-token-file", "/no/such/file"},
         "--auth-token-file: cannot read a token from /no/such/file"},
        {{"--admin-token-file", empty.path()},
         "--admin-token-file: there is no token in " + empty.path()},
        {{"--tls-cert", one.files().certificate_file}, "--tls-key"},
        {{"--tls-key", one.files().key_file}, "--tls-cert"},
        {{"--tls-cert", one.files().certificate_file, "--tls-key", other.files().key_file},
         "does not belong"},
    };
    for (const Row& row : rows) {
        std::vector<std::string> flags{"--http", "127.0.0.1:0"};
        flags.insert(flags.end(), row.flags.begin(), row.flags.end());
        const Finished finished = run(serve_command(flags));
        EXPECT_EQ(finished.exit_code, 1) << row.named;
        EXPECT_THAT(finished.error, HasSubstr(row.named));
    }
}

TEST(SecretFiles, ThatEverybodyMayReadAreWarnedOf) {
    const TokenFile file("visible-token");
    ::chmod(file.path().c_str(), 0644);
    ServerProcess server({"--http", "127.0.0.1:0", "--auth-token-file", file.path()});
    EXPECT_THAT(server.process.wait_for_error("readable by everybody"), HasSubstr(file.path()));
}

TEST(SecretFiles, AllowAListenerBeyondThisMachineWithAWarningWithoutTls) {
    const TokenFile file("some-token");
    ServerProcess server({"--http", "0.0.0.0:0", "--auth-token-file", file.path()});
    EXPECT_THAT(server.process.wait_for_error("in the clear"), HasSubstr("--tls-cert"));
    EXPECT_EQ(server.ask("GET /lock").status, 401);
}

TEST(SecretFiles, OfTheDoorForFilesTravelInTheClearWithAWarning) {
    const std::string root =
        ::testing::TempDir() + "holdfast_e2e_files_" + std::to_string(::getpid());
    {
        ServerProcess server({"--http", "127.0.0.1:0", "--files", "0.0.0.0:0", "--files-root", root,
                              "--files-owner", std::string(64, 'a'), "--files-url",
                              "http://files.example.org:8081"});
        EXPECT_THAT(server.process.wait_for_error("in the clear"),
                    AllOf(HasSubstr("0.0.0.0:0"), HasSubstr("--tls-cert")));
    }
    std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace holdfast::e2e
