#include "doors/homelab/homelab_request.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::doors::homelab {
namespace {

using namespace std::chrono_literals;

TEST(HomelabRequest, ReadsClientJobAndTtlInAnyOrder) {
    struct Row {
        std::string_view query, job, client;
        std::optional<std::chrono::microseconds> ttl;
    };
    const Row rows[] = {
        {"client=laptop1", "default", "laptop1", {}},
        {"client=laptop1&ttl=30s", "default", "laptop1", 30s},
        {"ttl=1m30s&client=laptop1&job=sync", "sync", "laptop1", 90s},
        {"client=laptop1&job=&ttl=", "default", "laptop1", {}},
        {"client=laptop1&job", "default", "laptop1", {}},
        {"client=a&client=b", "default", "a", {}},
        {"client=laptop1&color=red&&", "default", "laptop1", {}},
        {"client=my+laptop%21&job=a%2Fb%26c", "a/b&c", "my laptop!", {}},
        {"%63lient=laptop1", "default", "laptop1", {}},
        {"client=%22%0A%C3%BC", "default", "\"\n\u00fc", {}},
        {"client=a=b", "default", "a=b", {}},
        {"client=laptop1&ttl=250ms", "default", "laptop1", 250ms},
        {"client=laptop1&ttl=1h", "default", "laptop1", 1h},
        {"client=laptop1&ttl=1.5s", "default", "laptop1", 1500ms},
        {"client=laptop1&ttl=%2B5s", "default", "laptop1", 5s},
        {"client=laptop1&ttl=1ns", "default", "laptop1", 1us},  // up to the next microsecond
        {"client=laptop1&ttl=1000000h", "default", "laptop1", 1000000h},
    };
    for (const Row& row : rows) {
        const auto request = parse_request(Action::acquire, row.query);
        ASSERT_TRUE(request) << row.query << ": " << request.error().message;
        EXPECT_EQ(request->action, Action::acquire);
        EXPECT_EQ(request->job, row.job) << row.query;
        EXPECT_EQ(request->client, row.client) << row.query;
        EXPECT_EQ(request->ttl, row.ttl) << row.query;
    }
}

TEST(HomelabRequest, RefusesInTheWordsOfTheOriginal) {
    constexpr std::string_view no_client = "client parameter required";
    constexpr std::string_view bad_ttl = "invalid ttl format";
    constexpr std::string_view bad_escape = "a % is not followed by two hexadecimal digits";
    struct Row {
        std::string_view query, error;
    };
    const Row rows[] = {
        {"", no_client},
        {"client=", no_client},
        {"client", no_client},
        {"Client=laptop1", no_client},
        {"ttl=banana", no_client},  // the client is looked at first
        {"client=laptop1&ttl=5", bad_ttl},
        {"client=laptop1&ttl=0", bad_ttl},
        {"client=laptop1&ttl=0s", bad_ttl},
        {"client=laptop1&ttl=-1s", bad_ttl},
        {"client=laptop1&ttl=abc", bad_ttl},
        {"client=laptop1&ttl=s", bad_ttl},
        {"client=laptop1&ttl=5+s", bad_ttl},
        {"client=laptop1&ttl=1d", bad_ttl},
        {"client=laptop1&ttl=30S", bad_ttl},
        {"client=laptop1&ttl=1e3s", bad_ttl},
        {"client=laptop1&ttl=99999999999h", bad_ttl},
        {"client=%zz", bad_escape},
        {"client=laptop1&job=%4", bad_escape},
    };
    for (const Row& row : rows) {
        const auto request = parse_request(Action::acquire, row.query);
        ASSERT_FALSE(request) << row.query;
        EXPECT_EQ(request.error().message, row.error) << row.query;
    }
}

TEST(HomelabRequest, AReleaseNeedsAClientAndNoTtl) {
    const auto request = parse_request(Action::release, "client=laptop1&job=sync&ttl=nonsense");
    ASSERT_TRUE(request);
    EXPECT_EQ(request->client, "laptop1");
    EXPECT_EQ(request->job, "sync");
    EXPECT_EQ(request->ttl, std::nullopt);
    EXPECT_EQ(parse_request(Action::release, "job=sync").error().message,
              "client parameter required");
}

TEST(HomelabRequest, AStatusNeedsNothing) {
    EXPECT_EQ(parse_request(Action::status, "")->job, "default");
    const auto request = parse_request(Action::status, "job=sync&client=laptop1&ttl=nonsense");
    ASSERT_TRUE(request);
    EXPECT_EQ(request->job, "sync");
    EXPECT_EQ(request->client, "");
}

TEST(HomelabRequest, AQueryCutAnywhereIsReadOrRefused) {
    const std::string whole = "client=lap%20top&ttl=1m30s&job=%C3%BC";
    for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
        // A copy of its own size, so that a sanitizer sees a read beyond its end.
        const std::string cut = whole.substr(0, bytes);
        const auto request = parse_request(Action::acquire, cut);
        if (!request) {
            EXPECT_NE(request.error().message, "") << cut;
        } else {
            EXPECT_EQ(request->client, std::string("lap top").substr(0, request->client.size()));
            EXPECT_NE(request->client, "");
        }
    }
}

}  // namespace
}  // namespace holdfast::doors::homelab
