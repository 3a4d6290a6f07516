#include "app/doors.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

namespace holdfast::app {
namespace {

using ::testing::HasSubstr;

std::string page(const std::string& name) {
    std::ifstream file(HOLDFAST_REFERENCE "/" + name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// The row of the table that begins with `beginning`; empty if there is none.
std::string row_of(const std::string& text, const std::string& beginning) {
    const auto row = text.find(beginning);
    return row == std::string::npos ? "" : text.substr(row, text.find('\n', row) - row);
}

TEST(Doors, AreInTheTablesOfTheReference) {
    for (const Door& door : all_doors()) {
        const std::string flag = std::string("| `--") + door.name;
        EXPECT_THAT(row_of(page("doors.md"), flag + "`"), HasSubstr(door.default_address));
        EXPECT_THAT(row_of(page("options.md"), flag + " "), HasSubstr(door.default_address));
    }
}

TEST(Doors, AreRefusedIfNoneIsOpen) {
    ServeOptions options;
    for (const Door& door : all_doors()) options.*door.address = no_address;
    const auto checked = check_doors(options);
    ASSERT_FALSE(checked);
    for (const Door& door : all_doors()) EXPECT_THAT(checked.error().message, HasSubstr(door.name));
}

TEST(Doors, OpenToStrangersOnlyWithAGuard) {
    for (const Door& door : all_doors()) {
        ServeOptions options;
        options.files.root = "/srv/files";
        options.files.owner_keys = {std::string(64, 'a')};
        options.files.urls = {"http://files.example.org"};
        options.*door.address = ":7000";
        EXPECT_EQ(check_doors(options).has_value(), door.guard == Guard::login) << door.name;
        options.auth_token_file = "token";
        EXPECT_TRUE(check_doors(options)) << door.name;
        options.auth_token_file.clear();
        options.*door.address = "unix:/run/door.sock";
        EXPECT_TRUE(check_doors(options)) << door.name;
    }
}

TEST(Doors, SayWhatIsWrongWithAnAddress) {
    for (const Door& door : all_doors()) {
        ServeOptions options;
        options.files.root = "/srv/files";
        options.auth_token_file = "token";
        options.*door.address = "nowhere";
        const auto checked = check_doors(options);
        ASSERT_FALSE(checked) << door.name;
        EXPECT_THAT(checked.error().message, HasSubstr("nowhere"));
    }
}

TEST(Doors, AreCalledByWhatTheySpeak) {
    const Door& http = all_doors().front();
    const net::Endpoint tcp = net::parse_endpoint("127.0.0.1:8443").value();
    EXPECT_EQ(shown_name(http, tcp, true), "https");
    EXPECT_EQ(shown_name(http, tcp, false), "http");
    const net::Endpoint socket = net::parse_endpoint("unix:/run/h.sock").value();
    EXPECT_EQ(shown_name(http, socket, true), "http");
}

TEST(Doors, NeedDescriptorsForTheirConnections) {
    ServeOptions options;
    options.http_address = "127.0.0.1:0";
    options.dflockd_address = "127.0.0.1:0";
    options.connections_max = 1000;
    EXPECT_EQ(descriptors_needed(options), 1500U);
    options.dflockd_limits.connections_max = 2000;
    EXPECT_EQ(descriptors_needed(options), 2500U);
    options.dflockd_address = no_address;
    EXPECT_EQ(descriptors_needed(options), 1500U);
    options.dflockd_address = "127.0.0.1:0";
    options.dflockd_limits.connections_max = SIZE_MAX;  // as many as the system permits
    EXPECT_EQ(descriptors_needed(options), 1500U);
}

}  // namespace
}  // namespace holdfast::app
