#include "app/http/host_names.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>

namespace holdfast::app {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(HostNames, IncludeWhatNoPageFromElsewhereCanBeCalled) {
    const HostNames names({"box", "Locks.Example.org."});
    for (const char* authority :
         {"127.0.0.1", "127.0.0.1:8080", "10.1.2.3:80", "[::1]", "[::1]:8080", "[fe80::1]:1",
          "localhost", "localhost:8080", "LocalHost:8080", "localhost.", "localhost.:8080",
          "app.localhost:8080", "box", "BOX:8080", "box.:8080", "locks.example.org",
          "LOCKS.example.ORG.:443", "localhost:"}) {
        EXPECT_TRUE(names.includes(authority)) << authority;
    }
}

TEST(HostNames, IncludeNothingElse) {
    const HostNames names({"box", "locks.example.org"});
    for (const char* authority : {"",
                                  ":8080",
                                  ".",
                                  "evil.example",
                                  "evil.example:8080",
                                  "box.evil.example",
                                  "evil.box",
                                  "localhost.evil.example",
                                  "127.0.0.1.evil.example",
                                  "evillocalhost",
                                  "locks.example.org.evil.example",
                                  "x.locks.example.org",
                                  "example.org",
                                  "::1",
                                  "[::1",
                                  "[::1]x",
                                  "[::1]evil.example",
                                  "[evil.example]",
                                  "[]",
                                  "box:80:80",
                                  "box:http",
                                  "evil.example@box",
                                  "box@evil.example",
                                  "box evil.example",
                                  "box..",
                                  "127.0.0.1.",
                                  "0x7f.1"}) {
        EXPECT_FALSE(names.includes(authority)) << authority;
    }
}

TEST(HostNames, OfThisMachineHaveItsOwnNameAndTheConfiguredOnes) {
    std::array<char, 256> own{};
    ASSERT_EQ(::gethostname(own.data(), own.size() - 1), 0);
    const HostNames names = HostNames::of_this_machine({"locks.example.org"});
    EXPECT_TRUE(names.includes(std::string(own.data()) + ":8080"));
    const std::string name(own.data());
    const std::string plain = name.substr(0, name.find('.'));
    for (const char* domain : {".local", ".lan", ".home.arpa", ".internal", ".LOCAL.:8080"}) {
        EXPECT_TRUE(names.includes(plain + domain)) << domain;
    }
    for (const std::string& other : {"x" + plain + ".local", "evil." + plain + ".local",
                                     plain + ".local.evil.example", plain + ".localx"}) {
        EXPECT_FALSE(names.includes(other)) << other;
    }
    EXPECT_FALSE(names.includes("local"));
    EXPECT_FALSE(names.includes("other.local"));
    EXPECT_TRUE(names.includes("locks.example.org"));
    EXPECT_FALSE(names.includes("evil.example"));
}

TEST(MachineNames, AreWithAndWithoutTheDomain) {
    EXPECT_THAT(machine_names({"Box.Example.org", ""}),
                ElementsAre("box.example.org", "box", "box.local", "box.lan", "box.home.arpa",
                            "box.internal"));
    EXPECT_THAT(machine_names({"box", "127.0.1.1 box.example.org box\n"}),
                ElementsAre("box", "box.local", "box.lan", "box.home.arpa", "box.internal",
                            "box.example.org"));
    EXPECT_THAT(machine_names({"box.fritz.box", "::1\tBOX.lan\tbox.home box # at home"}),
                ElementsAre("box.fritz.box", "box", "box.local", "box.lan", "box.home.arpa",
                            "box.internal", "box.home"));
    EXPECT_THAT(machine_names({"nas.local", ""}),
                ElementsAre("nas.local", "nas", "nas.lan", "nas.home.arpa", "nas.internal"));
    EXPECT_THAT(machine_names({"", "127.0.0.1 localhost"}), IsEmpty());
}

TEST(MachineNames, AreNoNamesOfOthers) {
    EXPECT_THAT(machine_names({"box",
                               "127.0.0.1 localhost box evil.example\n"
                               "10.0.0.1 other.example.org other\n"
                               "10.0.0.2 box.evil.example\n"
                               "# 127.0.1.1 box.example.org box\n"}),
                ElementsAre("box", "box.local", "box.lan", "box.home.arpa", "box.internal"));
}

TEST(HostName, HasNoPortAndNoSlash) {
    for (const char* name : {"box", "Box", "locks.example.org", "locks.example.org.", "my_locks"}) {
        EXPECT_TRUE(is_host_name(name)) << name;
    }
    for (const std::string& name :
         {std::string(), std::string("."), std::string(".org"), std::string("box:8080"),
          std::string("http://box"), std::string("box/"), std::string("*.example.org"),
          std::string("[::1]"), std::string("a b"), std::string(254, 'x')}) {
        EXPECT_FALSE(is_host_name(name)) << name;
    }
}

}  // namespace
}  // namespace holdfast::app
