// Which scopes are in each other's way: the table of docs/protocols/scopes.md, over a socket.

#include <gtest/gtest.h>

#include <string>

#include "../test_host.h"

namespace holdfast::conformance {
namespace {

constexpr const char* exclusive = "exclusive";
constexpr const char* shared = "shared";

struct Conflict {
    const char* held;
    const char* wanted;
    bool is_conflict;
};

const Conflict conflicts[] = {
    // held: an inode
    {"inode:7", "inode:7", true},
    {"inode:7", "inode:8", false},
    {"inode:7", "range:7:0-1", true},
    {"inode:7", "range:7:4096-", true},
    {"inode:7", "range:8:0-4096", false},
    {"inode:7", "path:7", false},
    {"inode:7", "named:7", false},
    // held: a range
    {"range:7:0-4096", "inode:7", true},
    {"range:7:0-4096", "inode:8", false},
    {"range:7:0-4096", "range:7:0-4096", true},
    {"range:7:0-4096", "range:7:4095-8192", true},
    {"range:7:0-4096", "range:7:4096-8192", false},
    {"range:7:0-4096", "range:7:100-200", true},
    {"range:7:0-4096", "range:8:0-4096", false},
    {"range:7:100-200", "range:7:0-4096", true},
    {"range:7:100-200", "range:7:0-100", false},
    {"range:7:100-200", "range:7:200-", false},
    {"range:7:100-", "range:7:5000-5001", true},
    {"range:7:100-", "range:7:0-100", false},
    {"range:7:100-", "range:7:18446744073709551613-18446744073709551614", true},
    {"range:7:0-4096", "path:range", false},
    {"range:7:0-4096", "named:7:0-4096", false},
    // held: a path
    {"path:/a/b", "path:/a/b", true},
    {"path:/a/b", "path:/a", false},
    {"path:/a/b", "path:/a/b/", false},
    {"path:/a/b", "named:/a/b", false},
    {"path:7", "inode:7", false},
    {"path:7", "range:7:0-1", false},
    // held: a name
    {"named:x", "named:x", true},
    {"named:x", "named:X", false},
    {"named:x", "path:x", false},
    {"named:7", "inode:7", false},
    {"named:7", "range:7:0-1", false},
};

int acquire(net::TestClient& client, const std::string& scope, const char* holder,
            const char* mode) {
    client.send(http("POST /v1/leases", R"({"scope":")" + scope + R"(","holder":")" + holder +
                                            R"(","mode":")" + mode + R"("})"));
    return client.response().status;
}

TEST(ScopedConflict, IsAsTheTableSays) {
    for (const Conflict& row : conflicts) {
        const std::string about = std::string(row.held) + " and " + row.wanted;
        for (const char* held : {exclusive, shared}) {
            for (const char* wanted : {exclusive, shared}) {
                TestHost host(1);
                net::TestClient client = host.connect();
                ASSERT_EQ(acquire(client, row.held, "w1", held), 200) << about;
                const bool both_share = held == shared && wanted == shared;
                EXPECT_EQ(acquire(client, row.wanted, "w2", wanted),
                          row.is_conflict && !both_share ? 409 : 200)
                    << about << ", " << held << " and " << wanted;
            }
        }
    }
}

// Holding it already is no excuse: a holder that asks again waits for itself.
TEST(ScopedConflict, IsAlsoWithOneself) {
    TestHost host(1);
    net::TestClient client = host.connect();
    EXPECT_EQ(acquire(client, "range:7:0-4096", "w1", exclusive), 200);
    EXPECT_EQ(acquire(client, "range:7:0-10", "w1", exclusive), 409);
    EXPECT_EQ(acquire(client, "range:7:0-10", "w1", shared), 409);
}

}  // namespace
}  // namespace holdfast::conformance
