#include "app/serve_options.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "app/doors.h"

namespace holdfast::app {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

// A variable of the environment, `NAME=value`, for the length of a test.
class Variable {
  public:
    explicit Variable(const std::string& assignment)
        : name_(assignment.substr(0, assignment.find('='))) {
        ::setenv(name_.c_str(), assignment.c_str() + name_.size() + 1, 1);
    }
    ~Variable() { ::unsetenv(name_.c_str()); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

  private:
    const std::string name_;
};

// A config file for the length of a test.
class ConfigFile {
  public:
    explicit ConfigFile(const std::string& text)
        : path_(::testing::TempDir() + "holdfast_config_" + std::to_string(::getpid())) {
        std::ofstream(path_) << text;
    }
    ~ConfigFile() { ::unlink(path_.c_str()); }
    ConfigFile(const ConfigFile&) = delete;
    ConfigFile& operator=(const ConfigFile&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    const std::string path_;
};

std::string address_of_files(const ServeOptions& options) {
    const auto doors = all_doors();
    const auto is_files = [](const Door& door) { return door.name == std::string_view("files"); };
    return address_of(*std::find_if(doors.begin(), doors.end(), is_files), options);
}

// The options of `holdfast serve <flags>`, or what is wrong with them.
base::Result<ServeOptions> parse(std::vector<std::string> flags) {
    const options::Program program;
    ServeOptions options;
    declare_serve_options(program.root().add_command("serve", ""), options);
    flags.insert(flags.begin(), "serve");
    if (const auto stop = program.parse(flags)) return base::fail(stop->message);
    return options;
}

TEST(ServeOptions, HaveTheDefaultsOfTheSeed) {
    const auto options = parse({});
    ASSERT_TRUE(options);
    EXPECT_EQ(options->http_address, "127.0.0.1:8080");
    EXPECT_EQ(options->homelab.default_ttl, 30s);
    EXPECT_EQ(options->homelab.grace, 5s);
    EXPECT_EQ(options->threads, 1U);
    EXPECT_FALSE(options->is_insecure);
    EXPECT_TRUE(check(*options));
}

TEST(ServeOptions, OfFilesNeedARootAndSomebodyWhoMayLogIn) {
    const std::string key(64, 'a');
    const auto none = parse({});
    ASSERT_TRUE(none);
    EXPECT_EQ(address_of_files(*none), no_address);
    const auto usual = parse({"--files-root", "f", "--files-owner", key});
    ASSERT_TRUE(usual);
    EXPECT_EQ(address_of_files(*usual), "127.0.0.1:8081");
    EXPECT_TRUE(check(*usual));
    const auto several =
        parse({"--files-root", "f", "--files-owner", key, "--files-owner", std::string(64, 'A'),
               "--files-quota", "5", "--files-size-max", "4", "--files", "127.0.0.1:0"});
    ASSERT_TRUE(several);
    EXPECT_THAT(several->files.owner_keys, ::testing::ElementsAre(key, key));
    EXPECT_EQ(several->files.quota_bytes, 5U);
    EXPECT_EQ(several->files.file_bytes_max, 4U);
    EXPECT_EQ(address_of_files(*several), "127.0.0.1:0");
    EXPECT_FALSE(parse({"--files-owner", "short"}));
    const auto refusal = [](const std::vector<std::string>& flags) {
        const auto options = parse(flags);
        if (!options) return std::string("unread");
        const auto checked = check(*options);
        return checked ? std::string() : checked.error().message;
    };
    EXPECT_THAT(refusal({"--files", "127.0.0.1:0"}), HasSubstr("--files-root"));
    EXPECT_THAT(refusal({"--files-root", "f"}), HasSubstr("nobody could log in"));
    EXPECT_EQ(refusal({"--files-root", "f", "--files", "none"}), "");
    EXPECT_EQ(refusal({"--files-root", "f", "--auth-token-file", "t"}), "");
    EXPECT_EQ(refusal({"--files-root", "f", "--files-owner", key, "--files", "192.0.2.7:0"}), "");
    EXPECT_NE(refusal({"--files-root", "f", "--files-owner", key, "--files", "nowhere"}), "");
}

TEST(ServeOptions, HaveAnyNumberOfHostNames) {
    EXPECT_THAT(parse({})->host_names, ::testing::IsEmpty());
    EXPECT_THAT(parse({"--host-name", "locks.example.org", "--host-name", "box"})->host_names,
                ::testing::ElementsAre("locks.example.org", "box"));
    {
        const Variable variable("HOLDFAST_HOST_NAME=locks.example.org,box");
        EXPECT_THAT(parse({})->host_names, ::testing::ElementsAre("locks.example.org", "box"));
    }
    const ConfigFile file("host-name = [\"locks.example.org\", \"box\"]\n");
    EXPECT_THAT(parse({"--config", file.path()})->host_names,
                ::testing::ElementsAre("locks.example.org", "box"));
    for (const char* wrong : {"", "box:8080", "http://box", "*"}) {
        EXPECT_FALSE(parse({"--host-name", wrong})) << wrong;
    }
    const auto refused = parse({"--host-name", "box:8080"});
    EXPECT_THAT(refused.error().message, HasSubstr("'box:8080' is not a host name"));
}

TEST(ServeOptions, OfFilesNameTheOriginsOfWebApps) {
    const auto apps = parse({"--files-origin", "https://Drive.example.org:443", "--files-origin",
                             "http://localhost:5173"});
    ASSERT_TRUE(apps);
    EXPECT_THAT(apps->files.origins,
                ::testing::ElementsAre("https://drive.example.org", "http://localhost:5173"));
    for (const char* origin : {"*", "null", "drive.example.org", "https://x/app"}) {
        const auto no_origin = parse({"--files-origin", origin});
        ASSERT_FALSE(no_origin) << origin;
        EXPECT_THAT(no_origin.error().message,
                    HasSubstr("'" + std::string(origin) + "' is not an origin"));
    }
}

TEST(ServeOptions, OfFilesNameTheAddressesThatLoginsAreSignedFor) {
    const std::string key(64, 'a');
    const std::vector<std::string> everywhere{"--files-root", "f",    "--files-owner", key,
                                              "--files",      ":8081"};
    const auto with = [&](std::vector<std::string> flags) {
        flags.insert(flags.begin(), everywhere.begin(), everywhere.end());
        return parse(flags);
    };
    const auto nowhere = check(*with({}));
    ASSERT_FALSE(nowhere) << "an owner could never log in";
    EXPECT_THAT(nowhere.error().message, HasSubstr("--files-url"));
    const auto named =
        with({"--files-url", "https://Files.example.org/", "--files-url", "http://10.0.0.1:8081"});
    ASSERT_TRUE(named);
    EXPECT_TRUE(check(*named));
    EXPECT_THAT(named->files.urls,
                ::testing::ElementsAre("https://files.example.org", "http://10.0.0.1:8081"));
    const auto bad = parse({"--files-url", "files.example.org"});
    ASSERT_FALSE(bad);
    EXPECT_THAT(bad.error().message, HasSubstr("'files.example.org' does not begin with http://"));
    const auto without_owner =
        parse({"--files-root", "f", "--auth-token-file", "t", "--files", "0.0.0.0:0"});
    ASSERT_TRUE(without_owner);
    EXPECT_TRUE(check(*without_owner));
    EXPECT_EQ(without_owner->files_pace_min, 1024U);
    EXPECT_EQ(parse({"--files-pace-min", "0"})->files_pace_min, 0U);
}

TEST(ServeOptions, AreReadFromFlags) {
    const auto options = parse({"--http",
                                "[::1]:0",
                                "--insecure",
                                "--data",
                                "/var/lib/holdfast",
                                "--memory",
                                "--threads",
                                "3",
                                "--default-ttl",
                                "1m30s",
                                "--grace",
                                "0s",
                                "--body-max",
                                "10",
                                "--connections-max",
                                "20",
                                "--request-timeout",
                                "250ms",
                                "--idle-timeout",
                                "1h",
                                "--shutdown-timeout",
                                "1.5s",
                                "--log-format",
                                "text",
                                "--log-level",
                                "warning"});
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(options->http_address, "[::1]:0");
    EXPECT_TRUE(options->is_insecure);
    EXPECT_TRUE(options->is_in_memory);
    EXPECT_EQ(options->data_folder, "/var/lib/holdfast");
    EXPECT_EQ(options->threads, 3U);
    EXPECT_EQ(options->homelab.default_ttl, 90s);
    EXPECT_EQ(options->homelab.grace, 0s);
    EXPECT_EQ(options->http_body_bytes_max, 10U);
    EXPECT_EQ(options->connections_max, 20U);
    EXPECT_EQ(options->http_request_timeout, 250ms);
    EXPECT_EQ(options->http_idle_timeout, 1h);
    EXPECT_EQ(options->shutdown_timeout, 1500ms);
    EXPECT_EQ(options->log_format, base::LogFormat::text);
    EXPECT_EQ(options->log_level, base::LogLevel::warning);
}

TEST(ServeOptions, OfLeasesAndFences) {
    const auto usual = parse({});
    ASSERT_TRUE(usual);
    EXPECT_EQ(usual->scoped.default_duration, 30s);
    EXPECT_EQ(usual->scoped.duration_max, 24h);
    EXPECT_EQ(usual->fences_max, 100'000U);
    EXPECT_EQ(usual->limits.leases_max, 4'000'000U);
    const Variable longest("HOLDFAST_LEASE_MAX=5m");
    const auto options =
        parse({"--lease-duration", "10s", "--fences-max", "7", "--leases-max", "8"});
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(options->scoped.default_duration, 10s);
    EXPECT_EQ(options->scoped.duration_max, 300s);
    EXPECT_EQ(options->fences_max, 7U);
    EXPECT_EQ(options->limits.leases_max, 8U);
    EXPECT_FALSE(parse({"--leases-max", "0"}));
    EXPECT_TRUE(check(*options));
    EXPECT_FALSE(check({.scoped = {.default_duration = 0s}}));
    EXPECT_FALSE(check({.scoped = {.default_duration = 6s, .duration_max = 5s}}));
    EXPECT_FALSE(check({.scoped = {.duration_max = 24h * 367}}));
}

TEST(ServeOptions, AreReadFromTheEnvironment) {
    const Variable http("HOLDFAST_HTTP=127.0.0.1:1234");
    const Variable grace("HOLDFAST_GRACE=7s");
    const Variable insecure("HOLDFAST_INSECURE=true");
    const Variable level("HOLDFAST_LOG_LEVEL=debug");
    const auto options = parse({});
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(options->http_address, "127.0.0.1:1234");
    EXPECT_EQ(options->homelab.grace, 7s);
    EXPECT_TRUE(options->is_insecure);
    EXPECT_EQ(options->log_level, base::LogLevel::debug);
}

TEST(ServeOptions, AreReadFromAFile) {
    const ConfigFile file(
        "# a comment\n"
        "http = \"127.0.0.1:1234\"\n"
        "grace = 7s\n"
        "insecure = true\n"
        "threads = 2\n"
        "log-level = debug\n");
    for (const auto& options : {parse({"--config", file.path()}), [&] {
                                    const Variable config("HOLDFAST_CONFIG=" + file.path());
                                    return parse({});
                                }()}) {
        ASSERT_TRUE(options) << options.error().message;
        EXPECT_EQ(options->http_address, "127.0.0.1:1234");
        EXPECT_EQ(options->homelab.grace, 7s);
        EXPECT_TRUE(options->is_insecure);
        EXPECT_EQ(options->threads, 2U);
        EXPECT_EQ(options->log_level, base::LogLevel::debug);
    }
}

TEST(ServeOptions, AFlagBeatsTheEnvironmentWhichBeatsTheFile) {
    const ConfigFile file("grace = 1s\ndefault-ttl = 1s\nthreads = 1\n");
    const Variable grace("HOLDFAST_GRACE=2s");
    const Variable ttl("HOLDFAST_DEFAULT_TTL=2s");
    const auto options = parse({"--config", file.path(), "--grace", "3s"});
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(options->homelab.grace, 3s);
    EXPECT_EQ(options->homelab.default_ttl, 2s);
    EXPECT_EQ(options->threads, 1U);
}

TEST(ServeOptions, AFlagMayBeSwitchedOffInAFile) {
    const ConfigFile file("insecure = false\n");
    const auto options = parse({"--config", file.path()});
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_FALSE(options->is_insecure);
}

TEST(ServeOptions, FaultsAreNamed) {
    struct Row {
        std::vector<std::string> flags;
        std::string named;
    };
    const Row rows[] = {
        {{"--grace", "5"}, "--grace: 5 has no unit"},
        {{"--grace", "-1s"}, "--grace: -1s"},
        {{"--default-ttl", "x"}, "--default-ttl"},
        {{"--threads", "0"}, "--threads"},
        {{"--threads", "257"}, "--threads"},
        {{"--threads", "two"}, "--threads"},
        {{"--connections-max", "0"}, "--conn"},
        {{"--body-max", "-1"}, "--body-max"},
        {{"--log-level", "loud"}, "--log-level"},
        {{"--log-format", "xml"}, "--log-format"},
        {{"--frobnicate"}, "--frobnicate"},
        {{"--config", "/no/such"}, "/no/such"},
        {{"stray"}, "stray"},
    };
    for (const Row& row : rows) {
        const auto options = parse(row.flags);
        ASSERT_FALSE(options) << row.named;
        EXPECT_THAT(options.error().message, HasSubstr(row.named));
    }
}

TEST(ServeOptions, FaultsInAFileAreNamed) {
    for (const auto& [text, named] : {std::pair{"grce = 7s\n", "there is no option grce"},
                                      {"grace = 7\n", "--grace: 7 has no unit"},
                                      {"[serve]\ngrace = 7s\n", "there is no option serve."},
                                      {"config = other\n", "there is no option config"}}) {
        const ConfigFile file(text);
        const auto options = parse({"--config", file.path()});
        ASSERT_FALSE(options) << text;
        EXPECT_THAT(options.error().message, HasSubstr(named));
    }
}

TEST(ServeOptions, ListeningBeyondThisMachineMustBeMeant) {
    for (const char* address : {"0.0.0.0:8080", "192.168.1.2:8080", "[::]:8080"}) {
        ServeOptions options{.http_address = address};
        const auto refused = check(options);
        ASSERT_FALSE(refused) << address;
        EXPECT_THAT(refused.error().message, StartsWith("refusing to listen on"));
        EXPECT_THAT(refused.error().message, HasSubstr(address));
        for (const char* way_out : {"127.0.0.1", "--auth-token-file", "--insecure"}) {
            EXPECT_THAT(refused.error().message, HasSubstr(way_out));
        }
        options.is_insecure = true;
        EXPECT_TRUE(check(options)) << address;
        EXPECT_TRUE(check({.http_address = address, .auth_token_file = "token"})) << address;
        EXPECT_FALSE(check({.http_address = address, .admin_token_file = "token"})) << address;
        EXPECT_FALSE(check({.http_address = address, .tls = {"cert", "key"}})) << address;
    }
    for (const char* address : {"127.0.0.1:0", "127.1.2.3:8080", "[::1]:8080", "localhost:8080"}) {
        EXPECT_TRUE(check({.http_address = address})) << address;
    }
}

TEST(ServeOptions, NameTheFilesOfSecrets) {
    const ConfigFile file("auth-token-file = a\nadmin-token-file = b\ntls-cert = c\ntls-key = d\n");
    for (const auto& options : {parse({"--auth-token-file", "a", "--admin-token-file", "b",
                                       "--tls-cert", "c", "--tls-key", "d"}),
                                parse({"--config", file.path()}), [] {
                                    const Variable auth("HOLDFAST_AUTH_TOKEN_FILE=a"),
                                        admin("HOLDFAST_ADMIN_TOKEN_FILE=b");
                                    const Variable certificate("HOLDFAST_TLS_CERT=c"),
                                        key("HOLDFAST_TLS_KEY=d");
                                    return parse({});
                                }()}) {
        ASSERT_TRUE(options) << options.error().message;
        EXPECT_EQ(options->auth_token_file, "a");
        EXPECT_EQ(options->admin_token_file, "b");
        EXPECT_EQ(options->tls.certificate_file, "c");
        EXPECT_EQ(options->tls.key_file, "d");
        EXPECT_TRUE(check(*options));
    }
}

TEST(ServeOptions, ACertificateAndItsKeyBelongTogether) {
    for (const auto& half : {net::TlsFiles{.certificate_file = "c"}, {.key_file = "k"}}) {
        const auto refused = check({.tls = half});
        ASSERT_FALSE(refused);
        EXPECT_THAT(refused.error().message, HasSubstr("--tls-cert and --tls-key"));
    }
}

TEST(ServeOptions, TheDflockdDoorIsOpenUnlessSwitchedOff) {
    EXPECT_EQ(parse({})->dflockd_address, "127.0.0.1:6388");
    EXPECT_EQ(parse({"--dflockd", "none"})->dflockd_address, "none");
    const Variable variable("HOLDFAST_DFLOCKD=127.0.0.1:7000");
    EXPECT_EQ(parse({})->dflockd_address, "127.0.0.1:7000");
}

TEST(ServeOptions, EveryDoorBeyondThisMachineIsGuarded) {
    EXPECT_FALSE(check({.dflockd_address = "0.0.0.0:6388"}));
    EXPECT_TRUE(check({.dflockd_address = "0.0.0.0:6388", .is_insecure = true}));
    EXPECT_TRUE(check({.dflockd_address = "0.0.0.0:6388", .auth_token_file = "some/file"}));
    EXPECT_TRUE(check({.http_address = "none", .dflockd_address = "127.0.0.1:6388"}));
}

TEST(ServeOptions, WhatMakesNoSenseIsRefused) {
    EXPECT_FALSE(check({.dflockd_address = "nowhere"}));
    EXPECT_FALSE(check({.http_address = "none"}));
    EXPECT_FALSE(check({.http_address = "8080"}));
    EXPECT_FALSE(check({.http_address = "example.com:80"}));
    EXPECT_FALSE(check({.homelab = {.default_ttl = 0s}}));
    EXPECT_TRUE(check({.homelab = {.grace = 0s}}));
}

TEST(ServeOptions, HonourTheVariablesOfLockServer) {
    const Variable address("LOCKSERVER_ADDR=127.0.0.1:9090");
    const Variable database("LOCKSERVER_DB=./lockserver.db");
    const auto options = parse({});
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(options->http_address, "127.0.0.1:9090");
    EXPECT_EQ(database_file(*options), "./lockserver.db");
    const auto own = parse({"--http", "127.0.0.1:1", "--data", "here"});
    ASSERT_TRUE(own) << own.error().message;
    EXPECT_EQ(own->http_address, "127.0.0.1:1");
    EXPECT_EQ(database_file(*own), "here/holdfast.db");
}

TEST(ServeOptions, AnEmptyDataFolderIsTheDefault) {
    EXPECT_EQ(parse({"--data", ""})->data_folder, parse({})->data_folder);
}

TEST(ServeOptions, AVariableOfLockServerBeatsTheFile) {
    const Variable address("LOCKSERVER_ADDR=127.0.0.1:9090");
    const ConfigFile file("http = \"127.0.0.1:7070\"\n");
    const auto options = parse({"--config", file.path()});
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(options->http_address, "127.0.0.1:9090");
}

TEST(StatePlace, IsBesideTheDatabase) {
    EXPECT_EQ(state_place({}).folder, "./holdfast-data/terraform");
    EXPECT_EQ(state_place({.data_folder = "/var/lib/holdfast"}).folder,
              "/var/lib/holdfast/terraform");
    EXPECT_EQ(state_place({.lockserver_database = "/srv/locks.db"}).folder, "/srv/terraform");
    EXPECT_TRUE(state_place({.is_in_memory = true}).is_temporary);
}

TEST(StatePlace, OfAClusterIsInTheSharedFolderOrNowhere) {
    ServeOptions options;
    options.cluster.etcd = "etcd://127.0.0.1:2379/x";
    EXPECT_THAT(state_place(options).refusal, HasSubstr("--files-root and --files-shared"));
    options.files.root = "/mnt/shared";
    EXPECT_THAT(state_place(options).refusal, HasSubstr("--files-root and --files-shared"));
    options.cluster.has_shared_files = true;
    EXPECT_EQ(state_place(options).refusal, "");
    EXPECT_EQ(state_place(options).folder, "/mnt/shared/.holdfast/terraform");
}

TEST(ServeOptions, LimitHowLongTerraformMayHoldALock) {
    EXPECT_EQ(parse({})->terraform.hold_max, 0s);
    EXPECT_EQ(parse({"--terraform-hold-max", "4h"})->terraform.hold_max, 4h);
    ServeOptions options;
    EXPECT_TRUE(check(options));
    options.terraform.hold_max = 367 * 24h;
    EXPECT_THAT(check(options).error().message, HasSubstr("--terraform-hold-max"));
}

}  // namespace
}  // namespace holdfast::app
