#include "app/dflockd/dflockd_command.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "app/doors.h"

namespace holdfast::app {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;
using ::testing::UnorderedElementsAre;
using namespace std::chrono_literals;

// Variables of the environment, `NAME=value`, for the length of a test.
class Variables {
  public:
    explicit Variables(const std::vector<std::string>& assignments) {
        for (const std::string& assignment : assignments) {
            names_.push_back(assignment.substr(0, assignment.find('=')));
            ::setenv(names_.back().c_str(), assignment.c_str() + names_.back().size() + 1, 1);
        }
    }
    ~Variables() {
        for (const std::string& name : names_) ::unsetenv(name.c_str());
    }
    Variables(const Variables&) = delete;
    Variables& operator=(const Variables&) = delete;

  private:
    std::vector<std::string> names_;
};

// What `holdfast dflockd <flags>` serves, or what is wrong with it.
base::Result<ServeOptions> parse(std::vector<std::string> flags,
                                 std::vector<std::string>* ignored = nullptr) {
    const options::Program program;
    DflockdCommand command;
    declare_dflockd_options(program.root().add_command("dflockd", ""), command);
    flags.insert(flags.begin(), "dflockd");
    flags = with_flags_of_dflockd(std::move(flags));
    if (const auto stop = program.parse(flags)) return base::fail(stop->message);
    if (ignored != nullptr) *ignored = command.ignored;
    TRY(const ServeOptions options, to_serve_options(command));
    TRY(check(options));
    return options;
}

TEST(DflockdCommand, HasTheDefaultsOfTheOriginal) {
    const ServeOptions options = parse({}).value();
    EXPECT_EQ(options.http_address, "none");
    EXPECT_EQ(options.dflockd_address, "127.0.0.1:6388");
    EXPECT_EQ(options.dflockd.default_lease, 33s);
    EXPECT_TRUE(options.dflockd.releases_on_disconnect);
    EXPECT_EQ(options.dflockd_read_timeout, 23s);
    EXPECT_EQ(options.dflockd_write_timeout, 5s);
    EXPECT_EQ(options.shutdown_timeout, 30s);
    EXPECT_EQ(options.dflockd_limits.idle_max, 60s);
    EXPECT_EQ(options.dflockd_limits.locks_max, 1024U);
    EXPECT_EQ(options.dflockd_limits.waiters_max, 0U);
    EXPECT_GT(options.dflockd_limits.connections_max, 1'000'000U);
    EXPECT_TRUE(options.is_in_memory);
    EXPECT_EQ(options.auth_token, "");
    EXPECT_EQ(options.log_level, base::LogLevel::info);
}

const std::vector<std::string> all_flags{"--host",
                                         "0.0.0.0",
                                         "--port",
                                         "7000",
                                         "--max-locks",
                                         "7",
                                         "--max-waiters",
                                         "8",
                                         "--max-connections",
                                         "9",
                                         "--read-timeout",
                                         "1",
                                         "--write-timeout",
                                         "2",
                                         "--shutdown-timeout",
                                         "3",
                                         "--gc-interval",
                                         "4",
                                         "--gc-max-idle",
                                         "5",
                                         "--default-lease-ttl",
                                         "6",
                                         "--tls-cert",
                                         "c.pem",
                                         "--tls-key",
                                         "k.pem",
                                         "--auth-token",
                                         "secret",
                                         "--debug",
                                         "--lease-sweep-interval",
                                         "1",
                                         "--no-auto-release-on-disconnect"};

void expect_all(const ServeOptions& options) {
    EXPECT_EQ(options.dflockd_address, "0.0.0.0:7000");
    EXPECT_EQ(options.dflockd_limits.locks_max, 7U);
    EXPECT_EQ(options.dflockd_limits.waiters_max, 8U);
    EXPECT_EQ(options.dflockd_limits.connections_max, 9U);
    EXPECT_EQ(options.dflockd_read_timeout, 1s);
    EXPECT_EQ(options.dflockd_write_timeout, 2s);
    EXPECT_EQ(options.shutdown_timeout, 3s);
    EXPECT_EQ(options.dflockd_limits.idle_max, 5s);
    EXPECT_EQ(options.dflockd.default_lease, 6s);
    EXPECT_FALSE(options.dflockd.releases_on_disconnect);
    EXPECT_EQ(options.tls.certificate_file, "c.pem");
    EXPECT_EQ(options.tls.key_file, "k.pem");
    EXPECT_EQ(options.auth_token, "secret");
    EXPECT_EQ(options.log_level, base::LogLevel::debug);
}

TEST(DflockdCommand, TakesItsFlagsInEveryForm) {
    expect_all(parse(all_flags).value());
    std::vector<std::string> joined;
    for (std::size_t i = 0; i < all_flags.size(); ++i) {
        const bool has_value = i + 1 < all_flags.size() && !all_flags[i + 1].starts_with("--");
        joined.push_back(has_value ? all_flags[i] + "=" + all_flags[i + 1] : all_flags[i]);
        i += has_value ? 1 : 0;
    }
    expect_all(parse(joined).value());
    for (std::string& word : joined) word.erase(0, 1);  // -port=7000
    expect_all(parse(joined).value());
}

TEST(DflockdCommand, TakesItsVariables) {
    const Variables variables(
        {"DFLOCKD_HOST=0.0.0.0", "DFLOCKD_PORT=7000", "DFLOCKD_MAX_LOCKS=7",
         "DFLOCKD_MAX_WAITERS=8", "DFLOCKD_MAX_CONNECTIONS=9", "DFLOCKD_READ_TIMEOUT_S=1",
         "DFLOCKD_WRITE_TIMEOUT_S=2", "DFLOCKD_SHUTDOWN_TIMEOUT_S=3", "DFLOCKD_GC_LOOP_SLEEP=4",
         "DFLOCKD_GC_MAX_UNUSED_TIME=5", "DFLOCKD_DEFAULT_LEASE_TTL_S=6",
         "DFLOCKD_LEASE_SWEEP_INTERVAL_S=1", "DFLOCKD_AUTO_RELEASE_ON_DISCONNECT=0",
         "DFLOCKD_TLS_CERT=c.pem", "DFLOCKD_TLS_KEY=k.pem", "DFLOCKD_AUTH_TOKEN=secret",
         "DFLOCKD_DEBUG=1"});
    expect_all(parse({}).value());
    EXPECT_EQ(parse({"--port", "7001"})->dflockd_address, "0.0.0.0:7001") << "a flag beats them";
    const Variables newer({"DFLOCKD_GC_MAX_IDLE_S=50", "DFLOCKD_GC_INTERVAL_S=1"});
    EXPECT_EQ(parse({})->dflockd_limits.idle_max, 50s);
}

TEST(DflockdCommand, AutoReleaseIsSaidInManyWays) {
    for (const char* flag : {"--auto-release-on-disconnect=false", "--auto-release-on-disconnect=0",
                             "--no-auto-release-on-disconnect"}) {
        EXPECT_FALSE(parse({flag})->dflockd.releases_on_disconnect) << flag;
    }
    for (const char* flag : {"--auto-release-on-disconnect", "--auto-release-on-disconnect=true"}) {
        const Variables variable({"DFLOCKD_AUTO_RELEASE_ON_DISCONNECT=false"});
        EXPECT_TRUE(parse({flag})->dflockd.releases_on_disconnect) << flag;
        EXPECT_FALSE(parse({})->dflockd.releases_on_disconnect);
    }
}

TEST(DflockdCommand, ATokenOnTheCommandLineBeatsOneInTheEnvironment) {
    const Variables variables({"DFLOCKD_AUTH_TOKEN=from-the-environment"});
    EXPECT_EQ(parse({})->auth_token, "from-the-environment");
    EXPECT_EQ(parse({"--auth-token", "given"})->auth_token, "given");
    const ServeOptions with_file = parse({"--auth-token-file", "/a/file"}).value();
    EXPECT_EQ(with_file.auth_token, "");
    EXPECT_EQ(with_file.auth_token_file, "/a/file");
}

TEST(DflockdCommand, ZeroMeansNoLimit) {
    const ServeOptions options = parse({"--max-locks", "0", "--shutdown-timeout", "0"}).value();
    EXPECT_EQ(options.dflockd_limits.locks_max, 0U);
    EXPECT_GT(options.shutdown_timeout, 24h);
}

TEST(DflockdCommand, SecondsMayHaveFractions) {
    EXPECT_EQ(parse({"--read-timeout", "0.25"})->dflockd_read_timeout, 250ms);
    EXPECT_EQ(parse({"--default-lease-ttl=1.5"})->dflockd.default_lease, 1500ms);
}

TEST(DflockdCommand, KeepsLocksIfToldTo) {
    const ServeOptions options = parse({"--data", "/some/folder", "--threads", "3"}).value();
    EXPECT_FALSE(options.is_in_memory);
    EXPECT_EQ(options.data_folder, "/some/folder");
    EXPECT_EQ(options.threads, 3U);
}

TEST(DflockdCommand, AHostIsAnAddressOrAName) {
    EXPECT_EQ(parse({"--host", "::1"})->dflockd_address, "[::1]:6388");
    EXPECT_EQ(parse({"--host", "[::1]"})->dflockd_address, "[::1]:6388");
    EXPECT_EQ(parse({"--host", ""})->dflockd_address, ":6388");
    EXPECT_EQ(parse({"--host="})->dflockd_address, ":6388");
    EXPECT_EQ(parse({"--host", "localhost"})->dflockd_address, "127.0.0.1:6388");
    EXPECT_EQ(parse({"--host", "LocalHost"})->dflockd_address, "127.0.0.1:6388");
}

TEST(DflockdCommand, TheLastOfAFlagCounts) {
    const ServeOptions options = parse({"--port",
                                        "1",
                                        "-host=0.0.0.0",
                                        "--port=2",
                                        "--debug",
                                        "--host",
                                        "127.0.0.2",
                                        "--max-locks",
                                        "3",
                                        "--debug=false",
                                        "-max-locks",
                                        "4",
                                        "--read-timeout",
                                        "9",
                                        "--read-timeout=8",
                                        "--auto-release-on-disconnect=f",
                                        "--tls-cert=a",
                                        "--tls-cert",
                                        "",
                                        "--auth-token=x",
                                        "--auth-token=y",
                                        "--auto-release-on-disconnect"})
                                     .value();
    EXPECT_EQ(options.dflockd_address, "127.0.0.2:2");
    EXPECT_EQ(options.dflockd_limits.locks_max, 4U);
    EXPECT_EQ(options.dflockd_read_timeout, 8s);
    EXPECT_EQ(options.log_level, base::LogLevel::info);
    EXPECT_TRUE(options.dflockd.releases_on_disconnect);
    EXPECT_EQ(options.tls.certificate_file, "");
    EXPECT_EQ(options.auth_token, "y");
}

TEST(DflockdCommand, WordsAfterTheFlagsAreIgnored) {
    for (const char* first : {"start", "-", "--", ""}) {
        const auto options = parse({"--port", "7", first, "--port", "8", "--frobnicate"});
        ASSERT_TRUE(options) << first;
        EXPECT_EQ(options->dflockd_address, "127.0.0.1:7");
    }
    EXPECT_EQ(parse({"--debug", "false", "--port", "8"})->dflockd_address, "127.0.0.1:6388")
        << "a boolean flag takes no word of its own";
}

TEST(DflockdCommand, NumbersAreWrittenAsInGo) {
    EXPECT_EQ(parse({"--port", "0x1F90"})->dflockd_address, "127.0.0.1:8080");
    EXPECT_EQ(parse({"--port", "010"})->dflockd_address, "127.0.0.1:8");
    EXPECT_EQ(parse({"--max-locks", "1_000"})->dflockd_limits.locks_max, 1000U);
    EXPECT_EQ(parse({"--max-locks=+5"})->dflockd_limits.locks_max, 5U);
    EXPECT_EQ(parse({"--read-timeout", "0b11"})->dflockd_read_timeout, 3s);
    EXPECT_EQ(parse({"--max-connections", "-0"})->dflockd_limits.connections_max, SIZE_MAX);
    const Variables variables({"DFLOCKD_PORT=010", "DFLOCKD_READ_TIMEOUT_S=+7"});
    EXPECT_EQ(parse({})->dflockd_address, "127.0.0.1:10") << "variables are decimal";
    EXPECT_EQ(parse({})->dflockd_read_timeout, 7s);
}

TEST(DflockdCommand, AVariableThatIsNoValueIsIgnoredAndSaid) {
    const Variables variables({"DFLOCKD_PORT=six", "DFLOCKD_MAX_LOCKS=1.5",
                               "DFLOCKD_READ_TIMEOUT_S=1s", "DFLOCKD_DEBUG=perhaps",
                               "DFLOCKD_GC_MAX_IDLE_S=x", "DFLOCKD_GC_MAX_UNUSED_TIME=7",
                               "DFLOCKD_MAX_WAITERS="});
    std::vector<std::string> ignored;
    const ServeOptions options = parse({}, &ignored).value();
    EXPECT_EQ(options.dflockd_address, "127.0.0.1:6388");
    EXPECT_EQ(options.dflockd_limits.locks_max, 1024U);
    EXPECT_EQ(options.dflockd_read_timeout, 23s);
    EXPECT_EQ(options.dflockd_limits.idle_max, 7s);
    EXPECT_EQ(options.log_level, base::LogLevel::info);
    EXPECT_THAT(ignored, UnorderedElementsAre("DFLOCKD_PORT=six", "DFLOCKD_MAX_LOCKS=1.5",
                                              "DFLOCKD_READ_TIMEOUT_S=1s", "DFLOCKD_DEBUG=perhaps",
                                              "DFLOCKD_GC_MAX_IDLE_S=x"));
}

TEST(DflockdCommand, FlagsOfOtherVersionsAreIgnoredAndSaid) {
    const Variables variables({"DFLOCKD_HTTP_PORT=8080"});
    std::vector<std::string> ignored;
    ASSERT_TRUE(parse({"--max-subscriptions", "9", "--fence-state-file=/a/file",
                       "--max-connections-per-ip", "0", "--http-host", ""},
                      &ignored));
    EXPECT_THAT(ignored, UnorderedElementsAre("--max-subscriptions 9", "--fence-state-file /a/file",
                                              "--http-port 8080"));
}

TEST(DflockdCommand, BlanksAroundASecretAreDropped) {
    EXPECT_EQ(parse({"--auth-token", " a secret\r\n"})->auth_token, "a secret");
    const Variables variables({"DFLOCKD_AUTH_TOKEN=\tfrom there "});
    EXPECT_EQ(parse({})->auth_token, "from there");
    EXPECT_EQ(parse({"--auth-token="})->auth_token, "from there") << "an empty one is none";
}

TEST(DflockdCommand, TellsItsVersion) {
    const options::Program program;
    DflockdCommand command;
    declare_dflockd_options(program.root().add_command("dflockd", ""), command);
    const auto stop = program.parse(with_flags_of_dflockd({"dflockd", "-version", "--debug"}));
    ASSERT_TRUE(stop);
    EXPECT_EQ(stop->exit_code, 0);
    EXPECT_EQ(stop->output, "holdfast " HOLDFAST_VERSION "\n");
    EXPECT_TRUE(parse({"--version=false"}));
}

TEST(DflockdCommand, FaultsAreNamed) {
    struct Row {
        std::vector<std::string> flags;
        std::string named;
    };
    const Row rows[] = {
        {{"--frobnicate"}, "--frobnicate"},
        {{"--port", "65536"}, "--port"},
        {{"--port", "x"}, "--port"},
        {{"--read-timeout", "-1"}, "--read-timeout"},
        {{"--read-timeout", "nan"}, "--read-timeout"},
        {{"--read-timeout", "1s"}, "--read-timeout"},
        {{"--max-locks", "-1"}, "--max-locks"},
        {{"--default-lease-ttl", "0"}, "--default-lease-ttl"},
        {{"--tls-cert", "c.pem"}, "both --tls-cert and --tls-key must be provided together"},
        {{"--tls-key", "k.pem"}, "both --tls-cert and --tls-key must be provided together"},
        {{"--port", "-1"}, "--port"},
        {{"--port"}, "--port"},
        {{"--port", ""}, "--port"},
        {{"--debug=maybe"}, "maybe"},
        {{"---port=1"}, "-port"},
        {{"--replication-role", "primary"}, "--replication-role"},
        {{"--host", std::string(70, 'x')}, "xxx"},  // longer than a name can be
        {{"--auth-token", " \t"}, "--auth-token"},
        {{"--auth-token", "a\nb"}, "--auth-token"},
    };
    for (const Row& row : rows) {
        const auto options = parse(row.flags);
        ASSERT_FALSE(options) << row.named;
        EXPECT_THAT(options.error().message, HasSubstr(row.named));
    }
}

// ---- The other doors ----

TEST(DflockdCommand, OpensOtherDoorsOnlyIfTheyAreNamed) {
    const auto doors_of = [](const std::vector<std::string>& flags) {
        std::string names;
        for (const Door* door : open_doors(parse(flags).value())) names += door->name + " "s;
        return names;
    };
    const Variables variables({"HOLDFAST_HTTP=127.0.0.1:1", "LOCKSERVER_ADDR=127.0.0.1:2"});
    EXPECT_EQ(doors_of({}), "dflockd ");
    EXPECT_EQ(doors_of({"--http", "127.0.0.1:0"}), "http dflockd ");
    EXPECT_EQ(doors_of({"-http=127.0.0.1:0", "-redis", "127.0.0.1:0"}), "http dflockd redis ");
    EXPECT_EQ(doors_of({"--files-root", "0x10", "--auth-token", "t", "--port", "0x10"}),
              "dflockd files ");
    EXPECT_EQ(parse({"--files-root", "0x10", "--auth-token", "t"})->files.root, "0x10")
        << "a folder is no number";
}

TEST(DflockdCommand, GuardsTheOtherDoorsAsServeDoes) {
    EXPECT_TRUE(parse({"--host", "0.0.0.0"})) << "as dflockd itself, with a warning";
    const auto open = parse({"--http", "0.0.0.0:0"});
    ASSERT_FALSE(open);
    EXPECT_THAT(open.error().message, HasSubstr("--insecure"));
    EXPECT_TRUE(parse({"--http", "0.0.0.0:0", "--insecure", "--port", "1"}));
    EXPECT_TRUE(parse({"--insecure", "--http", "0.0.0.0:0"})) << "takes no word of its own";
    EXPECT_TRUE(parse({"--http", "0.0.0.0:0", "--auth-token", "secret"}));
}

TEST(DflockdCommand, HasNoSettingsOfAClusterAndNoUsualFlagOfServe) {
    for (const char* flag : {"--cluster", "--dflockd", "--dflockd-max-locks", "--status"}) {
        EXPECT_FALSE(parse({flag, "1"})) << flag;
    }
}

}  // namespace
}  // namespace holdfast::app
