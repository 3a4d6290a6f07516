// What the README tells people to type, typed: `make run`. It builds in build/release, where this
// test was built too, so it runs alone and finds nothing to do.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <utility>
#include <vector>

#include "server_process.h"

namespace holdfast::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A folder before all others in PATH, in which apt-get only leaves a trace.
class NoAptGet {
  public:
    NoAptGet() : folder_(::testing::TempDir() + "holdfast_path_" + std::to_string(::getpid())) {
        ::mkdir(folder_.c_str(), 0700);
        std::ofstream(program()) << "#!/bin/sh\necho called >>'" << trace() << "'\nexit 1\n";
        ::chmod(program().c_str(), 0700);
    }
    ~NoAptGet() {
        ::unlink(program().c_str());
        ::unlink(trace().c_str());
        ::rmdir(folder_.c_str());
    }
    NoAptGet(const NoAptGet&) = delete;
    NoAptGet& operator=(const NoAptGet&) = delete;

    [[nodiscard]] std::string path() const { return folder_ + ":" + std::getenv("PATH"); }
    [[nodiscard]] bool was_called() const { return ::access(trace().c_str(), F_OK) == 0; }

  private:
    [[nodiscard]] std::string program() const { return folder_ + "/apt-get"; }
    [[nodiscard]] std::string trace() const { return folder_ + "/trace"; }

    const std::string folder_;
};

// In the folder of the sources, and not as a part of the make that runs this test.
Command make(std::vector<std::string> words, const std::string& path) {
    words.insert(words.begin(), "make");
    return {.words = std::move(words),
            .environment = {{"MAKEFLAGS", ""},
                            {"MFLAGS", ""},
                            {"MAKEOVERRIDES", ""},
                            {"MAKELEVEL", ""},
                            {"preset", ""},
                            {"HOLDFAST_DATA", ""},
                            {"LOCKSERVER_DB", ""},
                            {"PATH", path}},
            .folder = HOLDFAST_SOURCE_DIR};
}

TEST(ReadmeMake, MakeRunServesUntilControlC) {
    const NoAptGet apt_get;
    ServerProcess server(
        make({"run", "ARGS=--http 127.0.0.1:0 --dflockd 127.0.0.1:0 --memory"}, apt_get.path()));
    EXPECT_THAT(server.ask("POST /lock?client=laptop1&ttl=30s").body, HasSubstr("\"acquired\""));
    server.process.signal_group(SIGINT);  // what Control-C does
    server.process.wait();                // make's own exit code says that it was interrupted
    EXPECT_THAT(server.process.error(), HasSubstr("stopped")) << "the server ended cleanly";
    EXPECT_FALSE(apt_get.was_called()) << "nothing is installed where nothing is missing";
}

TEST(ReadmeMake, MakeRunHasItsLocksInTheWorkingCopy) {
    const NoAptGet apt_get;
    const std::string here =
        "HOLDFAST_DATA='" HOLDFAST_SOURCE_DIR "/holdfast-data' exec build/release/holdfast serve";
    EXPECT_THAT(run(make({"-n", "run"}, apt_get.path())).output, HasSubstr(here));
    for (const char* other :
         {"ARGS=--config holdfast.conf", "HOLDFAST_DATA=/srv/locks", "LOCKSERVER_DB=locks.db"}) {
        EXPECT_THAT(run(make({"-n", "run", other}, apt_get.path())).output, Not(HasSubstr(here)));
    }
}

}  // namespace
}  // namespace holdfast::e2e
