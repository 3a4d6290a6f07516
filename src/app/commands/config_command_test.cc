#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "app/commands/commands.h"
#include "app/serve_options.h"

namespace holdfast::app {
namespace {

// What is in force for `--name`, as `value (origin)`.
std::string in_force(std::vector<std::string> words, const std::string& name) {
    const options::Program program;
    const options::Command command = program.root();
    ServeOptions options;
    declare_serve_options(command, options);
    if (const auto stop = program.parse(std::move(words))) return stop->message;
    for (const OptionInForce& option : options_in_force(command, options)) {
        if (option.name == name) return option.value + " (" + option.origin + ")";
    }
    return "there is none";
}

class Variable {
  public:
    Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;
    ~Variable() { ::unsetenv(name_); }

  private:
    const char* name_;
};

TEST(ConfigCommand, TellsWhereAValueCameFrom) {
    const std::string file = ::testing::TempDir() + "config_command_test.conf";
    std::ofstream(file) << "grace = 7s\nmemory = true\nthreads = 3\n";
    EXPECT_EQ(in_force({}, "--grace"), "5s (default)");
    EXPECT_EQ(in_force({}, "--memory"), "false (default)");
    EXPECT_EQ(in_force({}, "--admin-token-file"), " (default)");
    EXPECT_EQ(in_force({"--grace", "9s"}, "--grace"), "9s (command line)");
    EXPECT_EQ(in_force({"--config", file}, "--grace"), "7s (" + file + ")");
    EXPECT_EQ(in_force({"--config", file}, "--memory"), "true (" + file + ")");
    EXPECT_EQ(in_force({"--config", file, "--grace=9s"}, "--grace"), "9s (command line)");
    const Variable grace("HOLDFAST_GRACE", "8s");
    EXPECT_EQ(in_force({"--config", file}, "--grace"), "8s (HOLDFAST_GRACE)");
    EXPECT_EQ(in_force({"--grace", "9s"}, "--grace"), "9s (command line)");
}

TEST(ConfigCommand, KnowsTheVariablesOfLockServer) {
    const Variable address("LOCKSERVER_ADDR", ":9090"), database("LOCKSERVER_DB", "/tmp/locks.db");
    EXPECT_EQ(in_force({}, "--http"), ":9090 (LOCKSERVER_ADDR)");
    EXPECT_EQ(in_force({}, "--data"), "/tmp/locks.db (LOCKSERVER_DB)");
    EXPECT_EQ(in_force({"--data", "here"}, "--data"), "here (command line)");
}

TEST(ConfigCommand, KnowsTheVariablesOfDflockd) {
    EXPECT_EQ(in_force({}, "--dflockd-auto-release-on-disconnect"), "true (default)");
    EXPECT_EQ(in_force({}, "--dflockd-max-locks"), "0 (default)");
    EXPECT_EQ(in_force({}, "--dflockd-default-lease"), "33s (default)");
    const Variable release("DFLOCKD_AUTO_RELEASE_ON_DISCONNECT", "0"), host("DFLOCKD_HOST", "::1"),
        lease("DFLOCKD_DEFAULT_LEASE_TTL_S", "7");
    EXPECT_EQ(in_force({}, "--dflockd-auto-release-on-disconnect"),
              "false (DFLOCKD_AUTO_RELEASE_ON_DISCONNECT)");
    EXPECT_EQ(in_force({}, "--dflockd"), "[::1]:6388 (DFLOCKD_HOST)");
    EXPECT_EQ(in_force({}, "--dflockd-default-lease"), "7s (DFLOCKD_DEFAULT_LEASE_TTL_S)");
    const Variable own("HOLDFAST_DFLOCKD_DEFAULT_LEASE", "8s");
    EXPECT_EQ(in_force({}, "--dflockd-default-lease"), "8s (HOLDFAST_DFLOCKD_DEFAULT_LEASE)");
}

TEST(ConfigCommand, WritesATableAndJson) {
    const std::vector<OptionInForce> options{
        {.name = "--http", .value = ":80", .origin = "default"},
        {.name = "--grace", .value = "10s", .origin = "HOLDFAST_GRACE"}};
    EXPECT_EQ(to_table(options), "--http   :80  default\n--grace  10s  HOLDFAST_GRACE\n");
    EXPECT_EQ(to_json(options), R"({"options":[{"name":"--http","value":":80","from":"default"},)"
                                R"({"name":"--grace","value":"10s","from":"HOLDFAST_GRACE"}]})"
                                "\n");
}

}  // namespace
}  // namespace holdfast::app
