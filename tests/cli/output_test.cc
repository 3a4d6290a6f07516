// What the commands print, for people and for programs.

#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <regex>
#include <sstream>

#include "lab.h"

namespace holdfast::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

// The same text with what differs from run to run replaced, at the same width where that matters.
std::string normalised(std::string text) {
    const std::pair<const char*, const char*> rules[] = {
        {"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{12}Z", "<---------moment------->"},
        {"1h(29|30)m", "<1.5h>"},
        {"[0-9]{16}", "<----number---->"},
        {"\\b[0-9]\\.[0-9]s", "<sec>"},
        {"127\\.0\\.0\\.1:[0-9]+", "<address>"},
        {"[0-9.]+ ms", "<time>"},
    };
    for (const auto& [pattern, replacement] : rules) {
        text = std::regex_replace(text, std::regex(pattern), replacement);
    }
    return text;
}

void take(const ServerProcess& server, const std::vector<std::string>& words) {
    std::vector<std::string> all{"lock", "--ttl", "90m"};
    all.insert(all.end(), words.begin(), words.end());
    const Finished taken = run_client(server, all);
    ASSERT_EQ(taken.exit_code, 0) << taken.error;
}

TEST(Output, LsIsATable) {
    const ServerProcess server;
    EXPECT_EQ(run_client(server, {"ls"}).output, "nothing is held\n");
    take(server, {"nightly", "--owner", "w1"});
    take(server, {"builders", "--limit", "3", "--owner", "b1"});
    take(server, {"range:7:0-4096", "--owner", "w2", "--shared"});
    const Finished listed = run_client(server, {"ls"});
    EXPECT_EQ(listed.exit_code, 0) << listed.error;
    EXPECT_EQ(
        normalised(listed.output),
        "LOCK                KIND           HOLDER  MODE        LEFT  WAITING             FENCE  "
        "DOOR\n"
        "nightly             named          w1      exclusive  <1.5h>        0  <----number---->  "
        "scoped\n"
        "semaphore:builders  semaphore 1/3  b1      exclusive  <1.5h>        0  <----number---->  "
        "scoped\n"
        "range:7:0-4096      inode          w2      shared     <1.5h>        0  <----number---->  "
        "scoped\n");
    const std::string named = run_client(server, {"ls", "night"}).output;
    EXPECT_THAT(named, AllOf(HasSubstr("nightly"), Not(HasSubstr("builders"))));
}

TEST(Output, LsGoesThroughAllPages) {
    const ServerProcess server;
    net::TestClient client = server.connect();
    constexpr int count = 1200;  // a page has at most a thousand
    for (int index = 0; index < count; ++index) {
        const std::string body = "{\"scope\":\"named:n" + std::to_string(index) +
                                 "\",\"holder\":\"w\",\"duration_ms\":600000}";
        client.send("POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                    std::to_string(body.size()) + "\r\n\r\n" + body);
        ASSERT_EQ(client.response().status, 200);
    }
    const std::string lines = run_client(server, {"ls", "--json"}).output;
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), count);
}

TEST(Output, ShowTellsWhoWaitsForWhom) {
    const ServerProcess server;
    EXPECT_EQ(run_client(server, {"show", "x"}).output, "x is free\n");
    take(server, {"x", "--owner", "w1", "--metadata", "photos"});
    Process second(client_command(server.address, {"lock", "x", "--owner", "w2"}));
    wait_until([&] { return has_waiter(server, "x"); });
    EXPECT_EQ(normalised(run_client(server, {"show", "x"}).output),
              "x is held\n"
              "\n"
              "HOLDER  MODE        LEFT  UNTIL                                FENCE  METADATA\n"
              "w1      exclusive  <1.5h>  <---------moment------->  <----number---->  photos\n"
              "\n"
              "#  WAITS  MODE       SINCE  AT MOST  FOR  DOOR    METADATA\n"
              "1  w2     exclusive   <sec>           w1   scoped\n")
        << "a wait without an end is shown without one";
}

TEST(Output, StatusIsForPeople) {
    const ServerProcess server;
    take(server, {"x"});
    const Finished status = run_client(server, {"status"});
    EXPECT_EQ(status.exit_code, 0);
    EXPECT_THAT(normalised(status.output), StartsWith("http://<address>  ready\nversion    0."));
    EXPECT_THAT(normalised(status.output),
                AllOf(HasSubstr("\nup         <sec>\nlistens    http <address>, "),
                      HasSubstr("\ndata       in memory\nlocks      1 held, 0 waiting, 1 known\n"
                                "others     0 sessions, 0 fences\n"
                                "so far     1 grants, 0 renewals, 0 releases, 0 expiries, 0 by "
                                "force\n")));
    EXPECT_THAT(run_client(server, {"status", "--json"}).output, HasSubstr("\"held\":1"));
    EXPECT_EQ(run(client_command("127.0.0.1:1", {"status"})).exit_code, 69);
}

TEST(Output, EveryCommandHasHelpWithAnExample) {
    for (const char* const name : {"run", "lock", "renew", "unlock", "show", "ls", "watch", "top",
                                   "force-unlock", "fence", "status", "backup", "deadlocks"}) {
        const Finished help = run({.words = {holdfast_program, name, "--help"}});
        EXPECT_EQ(help.exit_code, 0);
        EXPECT_THAT(help.output,
                    AllOf(HasSubstr(std::string("Usage: holdfast ") + name),
                          HasSubstr(std::string("\n  holdfast ") + name), HasSubstr("--server URL"),
                          HasSubstr("--token-file FILE"), HasSubstr("--ca-file FILE")));
    }
    const Finished of_run = run({.words = {holdfast_program, "run", "--help"}});
    EXPECT_THAT(
        of_run.output,
        HasSubstr("Usage: holdfast run LOCK [LOCK...] [OPTIONS] -- command arguments...\n"));
    const Finished session = run({.words = {holdfast_program, "session", "--help"}});
    EXPECT_THAT(session.output, HasSubstr("\n  holdfast session end"));
}

TEST(Output, NamesCannotSpeakToTheTerminal) {
    const ServerProcess server;
    take(server, {"\x1b[2Jname", "--owner", "\x1b]0;owner\x07", "--metadata", "a\nb"});
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"ls"}, {"show", "\x1b[2Jname"}}) {
        const Finished finished = run_client(server, words);
        EXPECT_EQ(finished.exit_code, 0);
        EXPECT_THAT(finished.output, AllOf(Not(HasSubstr("\x1b")), HasSubstr("\\x1b[2Jname"),
                                           HasSubstr("\\x1b]0;owner\\x07")));
    }
    EXPECT_THAT(run_client(server, {"lock", "\x1b[2Jname", "--try"}).error, Not(HasSubstr("\x1b")));
}

TEST(Output, WatchTellsWhatHappens) {
    const ServerProcess server;
    Process people(client_command(server.address, {"watch", "x"}));
    Process programs(client_command(server.address, {"watch", "--json"}));
    // A watcher sees what happens from when it is there; a lock of each name tells when that is.
    const auto take_and_give_back = [&](const std::string& name) {
        const Finished finished = run(run_command(server.address, {name, "--owner", "w1"}, "true"));
        EXPECT_EQ(finished.exit_code, 0);
    };
    std::atomic<bool> is_seen = false;
    std::thread noise([&] {
        while (!is_seen) {
            take_and_give_back("y");
            take_and_give_back("x");
        }
    });
    const std::string line = people.wait_for_output("released");
    EXPECT_THAT(normalised(line),
                MatchesRegex("<-+moment-+>  released        x  w1  fence=<-+number-+> "
                             "held=<sec> by=http@127.0.0.1"));
    const std::string json = programs.wait_for_output("\"event\":\"granted\"");
    EXPECT_THAT(json, AllOf(StartsWith("{\"id\":"), HasSubstr("\"holder\":\"w1\"")));
    is_seen = true;
    noise.join();
    EXPECT_THAT(people.output(), Not(HasSubstr("  y  ")));
}

TEST(Output, LeasesByHand) {
    const ServerProcess server;
    const Finished taken = run_client(server, {"lock", "x", "--ttl", "10m"});
    EXPECT_THAT(taken.output, MatchesRegex("[0-9a-f]{32} [0-9]{16} [0-9T:.-]+Z\n"));
    const std::string token = taken.output.substr(0, 32);
    EXPECT_THAT(run_client(server, {"renew", token, "--ttl", "1h"}).output,
                MatchesRegex("[0-9T:.-]+Z\n"));
    EXPECT_EQ(run_client(server, {"unlock", token}).exit_code, 0);
    EXPECT_FALSE(is_held(server, "x"));
    const Finished twice = run_client(server, {"unlock", token});
    EXPECT_EQ(twice.exit_code, 1);
    EXPECT_THAT(twice.error, HasSubstr("ended"));
    EXPECT_EQ(run_client(server, {"renew", token}).exit_code, 1);
    EXPECT_EQ(run_client(server, {"unlock", "nonsense"}).exit_code, 1);
    EXPECT_THAT(run_client(server, {"lock", "x", "--json"}).output,
                AllOf(StartsWith("{\"token\":\""), HasSubstr("\"scope\":\"x\"")));
    EXPECT_EQ(run_client(server, {"lock", "x", "--try"}).exit_code, 75);
}

TEST(Output, FailuresAreJsonIfThatIsWanted) {
    const ServerProcess server;
    take(server, {"x", "--owner", "w1"});
    const Finished held = run_client(server, {"lock", "x", "--try", "--json"});
    EXPECT_EQ(held.exit_code, 75);
    EXPECT_THAT(held.output, AllOf(HasSubstr("\"error\":\"LockHeld\""), HasSubstr("\"w1\"")));
    EXPECT_EQ(held.error, "");
    const Finished late = run_client(server, {"lock", "x", "--wait", "10ms", "--json"});
    EXPECT_EQ(late.exit_code, 75);
    EXPECT_THAT(late.output, HasSubstr("\"holder\":\"w1\""));
    const Finished usage = run_client(server, {"lock", "x", "--ttl", "5", "--json"});
    EXPECT_EQ(usage.exit_code, 64);
    EXPECT_THAT(usage.output, StartsWith("{\"error\":\"BadRequest\",\"message\":\""));
    const Finished ran = run_client(server, {"run", "x", "--try", "--json", "true"});
    EXPECT_EQ(ran.exit_code, 75);
    EXPECT_EQ(ran.output, "");
    EXPECT_THAT(ran.error, HasSubstr("\"error\":\"LockHeld\""));
    EXPECT_THAT(run_client(server, {"unlock", "nonsense", "--json"}).output,
                HasSubstr("\"error\":\"LockNotFound\""));
}

TEST(Output, FencesRefuseWhatIsOld) {
    const ServerProcess server;
    EXPECT_EQ(run_client(server, {"fence", "bucket", "--show"}).exit_code, 1);
    EXPECT_EQ(run_client(server, {"fence", "bucket", "34"}).exit_code, 0);
    const Finished old = run_client(server, {"fence", "bucket", "33"});
    EXPECT_EQ(old.exit_code, 1);
    EXPECT_THAT(old.error, AllOf(HasSubstr("33"), HasSubstr("34")));
    EXPECT_EQ(run_client(server, {"fence", "bucket", "--show"}).output, "34\n");
    EXPECT_EQ(run_client(server, {"fence", "bucket", "--drop"}).exit_code, 0);
    EXPECT_EQ(run_client(server, {"fence", "bucket", "1"}).exit_code, 0);
    EXPECT_EQ(run_client(server, {"fence", "bucket"}).exit_code, 64);
    EXPECT_EQ(run_client(server, {"fence", "bucket", "1", "--drop"}).exit_code, 64);
}

TEST(Output, ForceUnlockWantsToBeSure) {
    const ServerProcess server;
    take(server, {"x"});
    EXPECT_EQ(run_client(server, {"force-unlock", "x"}).exit_code, 64);  // nobody to ask
    EXPECT_TRUE(is_held(server, "x"));
    EXPECT_EQ(run_client(server, {"force-unlock", "x", "--yes"}).exit_code, 0);
    EXPECT_FALSE(is_held(server, "x"));
    EXPECT_EQ(run_client(server, {"force-unlock", "x", "--yes"}).exit_code, 1);
}

TEST(Output, SessionsCanBeListedAndEnded) {
    ServerProcess server;
    EXPECT_EQ(run_client(server, {"session", "ls"}).output, "there are no sessions\n");
    const std::string line = server.process.wait_for_output("listening dflockd");
    net::TestClient client(net::parse_endpoint(line.substr(line.rfind(' ') + 1)).value());
    client.send("l\nx\n10 60\n");
    EXPECT_EQ(client.read(2), "ok");
    const Finished listed = run_client(server, {"session", "ls", "--json"});
    EXPECT_THAT(listed.output, HasSubstr("\"leases\":1"));
    const std::string table = run_client(server, {"session", "ls"}).output;
    EXPECT_THAT(table, AllOf(StartsWith("ID"), HasSubstr("dflockd")));
    const auto at = listed.output.find("\"id\":\"") + 6;
    const std::string id = listed.output.substr(at, listed.output.find('"', at) - at);
    EXPECT_EQ(run_client(server, {"session", "end", id}).exit_code, 0);
    EXPECT_FALSE(is_held(server, "x"));
    EXPECT_EQ(run_client(server, {"session", "end", id}).exit_code, 1);
    EXPECT_EQ(run_client(server, {"session"}).output, "there are no sessions\n");
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

TEST(Output, ABackupIsAFileOrNothing) {
    const DataFolder folder;
    const ServerProcess server(flags_for(folder.path()));
    take(server, {"x"});
    const std::string file = folder.path() + "/copy.db";
    const Finished made = run_client(server, {"backup", file});
    EXPECT_EQ(made.exit_code, 0) << made.error;
    EXPECT_THAT(read_file(file), StartsWith("SQLite format 3"));
    EXPECT_NE(::access((file + ".part").c_str(), F_OK), 0);
    EXPECT_THAT(run_client(server, {"backup", "-"}).output, StartsWith("SQLite format 3"));

    const Finished nowhere = run_client(server, {"backup", "/no/such/folder/copy.db"});
    EXPECT_EQ(nowhere.exit_code, 74);
    const std::string other = folder.path() + "/other.db";
    EXPECT_EQ(run(client_command("127.0.0.1:1", {"backup", other})).exit_code, 69);
    EXPECT_NE(::access(other.c_str(), F_OK), 0);
    EXPECT_NE(::access((other + ".part").c_str(), F_OK), 0);
}

TEST(Output, SecretsAreAskedForAndShown) {
    const DataFolder folder;
    const std::string auth = folder.path() + "/auth", admin = folder.path() + "/admin";
    std::ofstream(auth) << "secret-of-clients\n";
    std::ofstream(admin) << "secret-of-admins\n";
    const ServerProcess server(
        {"--http", "127.0.0.1:0", "--auth-token-file", auth, "--admin-token-file", admin});
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"ls"}, {"lock", "x"}, {"run", "x", "--", "true"}, {"watch"}}) {
        const Finished refused = run_client(server, words);
        EXPECT_EQ(refused.exit_code, 77) << words[0];
        EXPECT_THAT(refused.error, HasSubstr("--token-file"));
    }
    EXPECT_EQ(run_client(server, {"run", "x", "--token-file", auth, "--", holdfast_program, "ls"})
                  .exit_code,
              0);
    EXPECT_EQ(run_client(server, {"lock", "x", "--token-file", auth}).exit_code, 0);
    EXPECT_EQ(run_client(server, {"force-unlock", "x", "--yes", "--token-file", auth}).exit_code,
              77);
    EXPECT_EQ(run_client(server, {"force-unlock", "x", "--yes", "--token-file", admin}).exit_code,
              0);
    EXPECT_EQ(run_client(server, {"ls", "--token-file", "/no/such/file"}).exit_code, 64);
}

TEST(Output, AnythingButATerminalIsToldToLookElsewhere) {
    const ServerProcess server;
    const Finished top = run_client(server, {"top"});
    EXPECT_EQ(top.exit_code, 64);
    EXPECT_THAT(top.error, HasSubstr("terminal"));
}

TEST(UnixSocket, IsAServerForEveryCommand) {
    const std::string path =
        ::testing::TempDir() + "holdfast_cli_" + std::to_string(::getpid()) + ".sock";
    const ServerProcess server({"--http", "unix:" + path});
    EXPECT_EQ(server.address, "unix:" + path);
    EXPECT_EQ(run_client(server, {"lock", "x"}).exit_code, 0);
    EXPECT_THAT(run_client(server, {"ls"}).output, HasSubstr("x"));
    EXPECT_EQ(run_client(server, {"run", "y", "--", holdfast_program, "status"}).exit_code, 0);
    const Finished bench = run_client(server, {"bench", "--clients", "2", "--duration", "200ms"});
    EXPECT_EQ(bench.exit_code, 0) << bench.error;
    EXPECT_THAT(bench.output, HasSubstr("errors=0"));

    const Finished nobody = run(client_command("unix:" + path + "x", {"ls"}));
    EXPECT_EQ(nobody.exit_code, 69);
    EXPECT_THAT(nobody.error, HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace holdfast::e2e
