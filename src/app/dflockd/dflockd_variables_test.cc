#include "app/dflockd/dflockd_variables.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "app/dflockd/dflockd_settings.h"

namespace holdfast::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

// Variables of the environment, `NAME=value`, for the length of a test.
class Environment {
  public:
    explicit Environment(const std::vector<std::string>& assignments) {
        for (const std::string& assignment : assignments) {
            names_.push_back(assignment.substr(0, assignment.find('=')));
            ::setenv(names_.back().c_str(), assignment.c_str() + names_.back().size() + 1, 1);
        }
    }
    ~Environment() {
        for (const std::string& name : names_) ::unsetenv(name.c_str());
    }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

  private:
    std::vector<std::string> names_;
};

// What `holdfast serve <flags>` serves, or what is wrong with it.
base::Result<ServeOptions> serve(std::vector<std::string> flags = {}) {
    const options::Program program;
    ServeOptions options;
    declare_serve_options(program.root().add_command("serve", ""), options);
    flags.insert(flags.begin(), "serve");
    if (const auto stop = program.parse(flags)) return base::fail(stop->message);
    return options;
}

TEST(DflockdSettings, OfServeHaveTheDefaultsOfServe) {
    const ServeOptions options = serve().value();
    EXPECT_EQ(options.dflockd.default_lease, 33s);
    EXPECT_TRUE(options.dflockd.releases_on_disconnect);
    EXPECT_EQ(options.dflockd_limits.locks_max, 0U);
    EXPECT_EQ(options.dflockd_limits.waiters_max, 0U);
    EXPECT_EQ(options.dflockd_limits.connections_max, 0U);
    EXPECT_EQ(options.dflockd_limits.idle_max, 0s);
    EXPECT_EQ(options.dflockd_read_timeout, 23s);
    EXPECT_EQ(options.dflockd_write_timeout, 5s);
    EXPECT_THAT(options.borrowed, IsEmpty());
    EXPECT_THAT(options.unused, IsEmpty());
}

void expect_all_settings(const ServeOptions& options) {
    EXPECT_EQ(options.dflockd.default_lease, 7s);
    EXPECT_FALSE(options.dflockd.releases_on_disconnect);
    EXPECT_EQ(options.dflockd_limits.locks_max, 2U);
    EXPECT_EQ(options.dflockd_limits.waiters_max, 3U);
    EXPECT_EQ(options.dflockd_limits.connections_max, 4U);
    EXPECT_EQ(options.dflockd_limits.idle_max, 50s);
    EXPECT_EQ(options.dflockd_read_timeout, 6s);
    EXPECT_EQ(options.dflockd_write_timeout, 8s);
}

TEST(DflockdSettings, AreOptionsOfServe) {
    expect_all_settings(
        serve({"--dflockd-default-lease", "7s", "--dflockd-auto-release-on-disconnect=false",
               "--dflockd-max-locks", "2", "--dflockd-max-waiters", "3",
               "--dflockd-max-connections", "4", "--dflockd-gc-max-idle", "50s",
               "--dflockd-read-timeout", "6s", "--dflockd-write-timeout", "8s"})
            .value());
    EXPECT_FALSE(
        serve({"--no-dflockd-auto-release-on-disconnect"})->dflockd.releases_on_disconnect);
    const std::string file = ::testing::TempDir() + "dflockd_variables_test.conf";
    std::ofstream(file) << "dflockd-default-lease = 7s\n"
                           "dflockd-auto-release-on-disconnect = false\n"
                           "dflockd-max-locks = 2\ndflockd-max-waiters = 3\n"
                           "dflockd-max-connections = 4\ndflockd-gc-max-idle = 50s\n"
                           "dflockd-read-timeout = 6s\ndflockd-write-timeout = 8s\n";
    expect_all_settings(serve({"--config", file}).value());
    const Environment own(
        {"HOLDFAST_DFLOCKD_DEFAULT_LEASE=7s", "HOLDFAST_DFLOCKD_AUTO_RELEASE_ON_DISCONNECT=false",
         "HOLDFAST_DFLOCKD_MAX_LOCKS=2", "HOLDFAST_DFLOCKD_MAX_WAITERS=3",
         "HOLDFAST_DFLOCKD_MAX_CONNECTIONS=4", "HOLDFAST_DFLOCKD_GC_MAX_IDLE=50s",
         "HOLDFAST_DFLOCKD_READ_TIMEOUT=6s", "HOLDFAST_DFLOCKD_WRITE_TIMEOUT=8s"});
    expect_all_settings(serve().value());
}

TEST(DflockdVariables, AreHonouredByServe) {
    const Environment environment(
        {"DFLOCKD_DEFAULT_LEASE_TTL_S=7", "DFLOCKD_AUTO_RELEASE_ON_DISCONNECT=0",
         "DFLOCKD_MAX_LOCKS=2", "DFLOCKD_MAX_WAITERS=3", "DFLOCKD_MAX_CONNECTIONS=4",
         "DFLOCKD_GC_MAX_UNUSED_TIME=50", "DFLOCKD_READ_TIMEOUT_S=6", "DFLOCKD_WRITE_TIMEOUT_S=8",
         "DFLOCKD_SHUTDOWN_TIMEOUT_S=0", "DFLOCKD_DEBUG=true", "DFLOCKD_TLS_CERT=c.pem",
         "DFLOCKD_TLS_KEY=k.pem", "DFLOCKD_AUTH_TOKEN= secret "});
    const ServeOptions options = serve().value();
    expect_all_settings(options);
    EXPECT_GT(options.shutdown_timeout, 24h);
    EXPECT_EQ(options.log_level, base::LogLevel::debug);
    EXPECT_EQ(options.tls.certificate_file, "c.pem");
    EXPECT_EQ(options.tls.key_file, "k.pem");
    EXPECT_EQ(options.auth_token, "secret");
    EXPECT_THAT(options.unused, IsEmpty());
    const Environment newer({"DFLOCKD_GC_MAX_IDLE_S=51"});
    EXPECT_EQ(serve()->dflockd_limits.idle_max, 51s);
}

TEST(DflockdVariables, CountLessThanOurFlagsAndVariablesAndMoreThanTheFile) {
    const Environment environment({"DFLOCKD_MAX_LOCKS=2", "DFLOCKD_MAX_WAITERS=2",
                                   "DFLOCKD_MAX_CONNECTIONS=2", "DFLOCKD_AUTH_TOKEN=theirs",
                                   "DFLOCKD_TLS_CERT=c.pem", "DFLOCKD_TLS_KEY=k.pem",
                                   "HOLDFAST_DFLOCKD_MAX_WAITERS=9"});
    const std::string file = ::testing::TempDir() + "dflockd_variables_test_2.conf";
    std::ofstream(file) << "dflockd-max-connections = 9\n";
    const ServeOptions options = serve({"--config", file, "--dflockd-max-locks=9", "--tokens",
                                        "t.conf", "--tls-cert", "our.pem"})
                                     .value();
    EXPECT_EQ(options.dflockd_limits.locks_max, 9U);
    EXPECT_EQ(options.dflockd_limits.waiters_max, 9U);
    EXPECT_EQ(options.dflockd_limits.connections_max, 2U);
    EXPECT_EQ(options.auth_token, "");
    EXPECT_EQ(options.tls.certificate_file, "our.pem");
    EXPECT_EQ(options.tls.key_file, "") << "a certificate and its key are one thing";
}

TEST(DflockdVariables, OfSecretsCountInsteadOfThoseOfTheFile) {
    const std::string file = ::testing::TempDir() + "dflockd_variables_test_4.conf";
    std::ofstream(file) << "auth-token-file = ours\ntls-cert = our.pem\ntls-key = our.key\n"
                           "log-level = error\n";
    const Environment environment(
        {"DFLOCKD_AUTH_TOKEN=theirs", "DFLOCKD_TLS_CERT=c.pem", "DFLOCKD_DEBUG=1"});
    const ServeOptions options = serve({"--config", file}).value();
    EXPECT_EQ(options.auth_token, "theirs");
    EXPECT_EQ(options.auth_token_file, "");
    EXPECT_EQ(options.tls.certificate_file, "c.pem");
    EXPECT_EQ(options.tls.key_file, "") << "not the key of another certificate";
    EXPECT_EQ(options.log_level, base::LogLevel::debug);
    const Environment own({"HOLDFAST_AUTH_TOKEN_FILE=own"});
    EXPECT_EQ(serve({"--config", file})->auth_token_file, "own");
    EXPECT_EQ(serve({"--config", file})->auth_token, "");
}

TEST(DflockdVariables, SayWhereItListensIfDflockdIsNotGiven) {
    const Environment host({"DFLOCKD_HOST=::1"});
    EXPECT_EQ(serve()->dflockd_address, "[::1]:6388");
    {
        const Environment port({"DFLOCKD_PORT=7000"});
        EXPECT_EQ(serve()->dflockd_address, "[::1]:7000");
        EXPECT_EQ(serve({"--dflockd", "none"})->dflockd_address, "none");
        const Environment own({"HOLDFAST_DFLOCKD=127.0.0.1:1"});
        EXPECT_EQ(serve()->dflockd_address, "127.0.0.1:1");
    }
    const std::string file = ::testing::TempDir() + "dflockd_variables_test_3.conf";
    std::ofstream(file) << "dflockd = \"127.0.0.1:2\"\n";
    EXPECT_EQ(serve({"--config", file})->dflockd_address, "[::1]:6388");
    const Environment name({"DFLOCKD_HOST=localhost"});
    EXPECT_EQ(serve()->dflockd_address, "127.0.0.1:6388");
}

TEST(DflockdVariables, WithAValueThatMakesNoSenseAreNamed) {
    for (const char* assignment :
         {"DFLOCKD_MAX_LOCKS=many", "DFLOCKD_MAX_WAITERS=1.5", "DFLOCKD_MAX_CONNECTIONS=-1",
          "DFLOCKD_DEFAULT_LEASE_TTL_S=33s", "DFLOCKD_DEFAULT_LEASE_TTL_S=0",
          "DFLOCKD_GC_MAX_IDLE_S=x", "DFLOCKD_GC_MAX_UNUSED_TIME=x", "DFLOCKD_READ_TIMEOUT_S=nan",
          "DFLOCKD_WRITE_TIMEOUT_S=-1", "DFLOCKD_SHUTDOWN_TIMEOUT_S=x", "DFLOCKD_PORT=65536",
          "DFLOCKD_PORT=x", "DFLOCKD_AUTO_RELEASE_ON_DISCONNECT=perhaps", "DFLOCKD_DEBUG=maybe",
          "DFLOCKD_AUTH_TOKEN= "}) {
        const std::string name =
            std::string(assignment).substr(0, std::string(assignment).find('='));
        const Environment environment({assignment});
        const auto options = serve();
        ASSERT_FALSE(options) << assignment;
        EXPECT_THAT(options.error().message, HasSubstr(name));
    }
    const Environment environment({"DFLOCKD_HOST=" + std::string(70, 'x')});
    EXPECT_THAT(serve().error().message, HasSubstr("DFLOCKD_HOST"));
}

TEST(DflockdVariables, WithoutEffectAreNamedWithWhatToUse) {
    const Environment environment(
        {"DFLOCKD_HTTP_PORT=8080", "DFLOCKD_GC_LOOP_SLEEP=5", "DFLOCKD_FROBNICATE=1",
         "DFLOCKD_MAX_SUBSCRIPTIONS=", "DFLOCKD_PORT=tcp://10.0.0.1:6388"});
    std::vector<std::string> told;
    const ServeOptions options = serve().value();
    for (const UnusedVariable& unused : options.unused) {
        told.push_back(unused.name + ": " + unused.instead);
    }
    EXPECT_THAT(told, ElementsAre(HasSubstr("DFLOCKD_PORT: nothing: Kubernetes"),
                                  HasSubstr("DFLOCKD_FROBNICATE: nothing"),
                                  HasSubstr("DFLOCKD_GC_LOOP_SLEEP: nothing: leases end"),
                                  "DFLOCKD_HTTP_PORT: --http"));
}

// No variable of dflockd is forgotten: each is a setting, or is named in a warning.
TEST(DflockdVariables, AreAllAccountedFor) {
    for (const DflockdSetting& setting : dflockd_settings()) {
        for (const std::string& variable : setting.variables) {
            const Environment environment({variable + "=1"});
            const ServeOptions options = serve().value();
            EXPECT_EQ(options.borrowed.at(setting.option), variable);
            EXPECT_THAT(options.unused, IsEmpty());
        }
    }
    for (const IgnoredSetting& setting : ignored_settings()) {
        for (const std::string& variable : setting.variables) {
            const Environment environment({variable + "=1"});
            EXPECT_EQ(serve().value().unused.size(), 1U) << variable;
        }
    }
}

}  // namespace
}  // namespace holdfast::app
