// The real program's command line, configuration and log.

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "server_process.h"

namespace holdfast::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

TEST(CommandLine, HelpShowsHowToTakeTheFirstLock) {
    const Finished help = run(serve_command({"--help"}));
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_THAT(help.output,
                HasSubstr("curl -X POST   'http://127.0.0.1:8080/lock?client=laptop1&ttl=30s'"));
    const Finished top = run({.words = {holdfast_program, "--help"}});
    EXPECT_EQ(top.exit_code, 0);
    EXPECT_THAT(top.output, HasSubstr("serve"));
}

TEST(CommandLine, SaysItsVersion) {
    const Finished version = run({.words = {holdfast_program, "--version"}});
    EXPECT_EQ(version.exit_code, 0);
    EXPECT_THAT(version.output, MatchesRegex("holdfast [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(CommandLine, FaultsAreNamed) {
    struct Row {
        std::vector<std::string> flags;
        std::string named;
    };
    const Row rows[] = {
        {{"--frobnicate"}, "--frobnicate"},
        {{"--grace", "5"}, "--grace"},
        {{"--threads", "0"}, "--threads"},
        {{"--http", "nowhere"}, "nowhere"},
        {{"--http", "127.0.0.1:99999"}, "127.0.0.1:99999"},
        {{"--http", "none", "--dflockd", "none"}, "nothing to serve"},
        {{"--dflockd", "nowhere"}, "nowhere"},
        {{"--config", "/no/such/file"}, "/no/such/file"},
        {{"--default-ttl", "0s"}, "--default-ttl"},
    };
    for (const Row& row : rows) {
        const Finished finished = run(serve_command(row.flags));
        EXPECT_NE(finished.exit_code, 0) << row.named;
        EXPECT_THAT(finished.error, HasSubstr(row.named));
        EXPECT_EQ(finished.output, "");
    }
    EXPECT_NE(run({.words = {holdfast_program}}).exit_code, 0);
}

TEST(CommandLine, ListeningBeyondThisMachineMustBeMeant) {
    const Finished refused = run(serve_command({"--http", "0.0.0.0:0"}));
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.error, AllOf(HasSubstr("0.0.0.0:0"), HasSubstr("--insecure")));
    const Finished dflockd =
        run(serve_command({"--http", "127.0.0.1:0", "--dflockd", "0.0.0.0:0"}));
    EXPECT_EQ(dflockd.exit_code, 1);
    EXPECT_THAT(dflockd.error, AllOf(HasSubstr("0.0.0.0:0"), HasSubstr("--insecure")));
    const ServerProcess meant({"--http", "0.0.0.0:0", "--insecure"});
    EXPECT_THAT(meant.address, StartsWith("0.0.0.0:"));
}

// The grace that a server keeps, in seconds, as far as whole seconds tell.
int grace_shown_by(const Command& command) {
    const ServerProcess server(command);
    EXPECT_EQ(server.ask("POST /lock?client=laptop1&ttl=1ms").status, 200);
    const std::string body = server.ask("GET /lock").body;
    const auto second_of = [&](const std::string& key) {
        const auto at = body.find("\"" + key + "\":\"");
        if (at == std::string::npos) return -1;
        const std::string time = body.substr(at + key.size() + 4, 20);  // 2024-01-15T10:30:00Z
        return std::stoi(time.substr(11, 2)) * 3600 + std::stoi(time.substr(14, 2)) * 60 +
               std::stoi(time.substr(17, 2));
    };
    constexpr int day = 24 * 3600;
    return (second_of("grace_until") - second_of("expires_at") + day) % day;
}

TEST(CommandLine, AFlagBeatsTheEnvironmentWhichBeatsTheFile) {
    const std::string path =
        ::testing::TempDir() + "holdfast_e2e_" + std::to_string(::getpid()) + ".conf";
    std::ofstream(path) << "http = \"127.0.0.1:0\"\ngrace = 100s\n";
    Command command = serve_command({"--config", path});
    EXPECT_NEAR(grace_shown_by(command), 100, 1);
    command.environment["HOLDFAST_GRACE"] = "200s";
    EXPECT_NEAR(grace_shown_by(command), 200, 1);
    command.words.insert(command.words.end(), {"--grace", "300s"});
    EXPECT_NEAR(grace_shown_by(command), 300, 1);
    Command by_variable = serve_command();
    by_variable.environment["HOLDFAST_CONFIG"] = path;
    EXPECT_NEAR(grace_shown_by(by_variable), 100, 1);
    ::unlink(path.c_str());
}

// What a server writes that is asked by clients with troublesome names.
std::string log_of(const std::string& level, const std::vector<std::string>& flags = {}) {
    std::vector<std::string> all{"--http", "127.0.0.1:0", "--log-level", level};
    all.insert(all.end(), flags.begin(), flags.end());
    ServerProcess server(all);
    for (const char* client : {"laptop1", "%22quoted%22", "two%0Alines", "%FF", "B%C3%BCro"}) {
        // The name of a lock is UTF-8; that of a client may be anything.
        const std::string_view job = std::string_view(client) == "%FF" ? "bytes" : client;
        const std::string query =
            "/lock?ttl=1h&client=" + std::string(client) + "&job=" + std::string(job);
        EXPECT_EQ(server.ask("POST " + query).status, 200);
        EXPECT_EQ(server.ask("POST " + query).status, 200);
        EXPECT_EQ(server.ask("DELETE " + query).status, 200);
    }
    server.process.signal(SIGTERM);
    EXPECT_EQ(server.process.wait(), 0);
    return server.process.error();
}

TEST(CommandLine, JsonLogLinesAreJson) {
    const std::string path =
        ::testing::TempDir() + "holdfast_e2e_" + std::to_string(::getpid()) + ".log";
    std::ofstream(path) << log_of("debug");  // JSON by default: standard error is no terminal
    const Finished read = run(
        {.words = {"python3", "-c",
                   "import json, sys\n"
                   "lines = [json.loads(line) for line in open(sys.argv[1], encoding='utf-8')]\n"
                   "assert all({'time', 'level', 'message'} <= line.keys() for line in lines)\n"
                   "print([line['owner'] for line in lines if line['message'] == 'granted'])\n"
                   "print(len(lines))",
                   path},
         .environment = {{"PYTHONIOENCODING", "utf-8"}}});
    ::unlink(path.c_str());
    EXPECT_EQ(read.error, "");
    EXPECT_EQ(read.output, "['laptop1', '\"quoted\"', 'two\\nlines', '\uFFFD', 'B\u00fcro']\n17\n");
}

TEST(CommandLine, TextLogLinesAreForPeople) {
    const std::string log = log_of("debug", {"--log-format", "text"});
    EXPECT_THAT(log, HasSubstr(" info    granted lock=laptop1 owner=laptop1 door=homelab "));
    EXPECT_THAT(log, HasSubstr("owner=\"two\\nlines\""));
    EXPECT_THAT(log, Not(HasSubstr("\nlines")));
    EXPECT_THAT(log, Not(HasSubstr("{\"time\"")));
}

TEST(CommandLine, ALogMayBeSwitchedOff) {
    EXPECT_EQ(log_of("off"), "");
}

}  // namespace
}  // namespace holdfast::e2e
