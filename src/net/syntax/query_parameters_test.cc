#include "net/syntax/query_parameters.h"

#include <gtest/gtest.h>

#include <array>

#include "net/client/url.h"

namespace holdfast::net {
namespace {

// The decoded value, `(absent)` or `(malformed)`.
std::string shown(const QueryParameter& parameter) {
    std::string memory = "left from before";
    const auto value = parameter.decode(memory);
    if (!value) return "(malformed)";
    if (!parameter.is_there()) {
        EXPECT_EQ(*value, "");
        return "(absent)";
    }
    return std::string(*value);
}

TEST(QueryParameters, AreFoundTogether) {
    struct Row {
        std::string_view query, client, ttl;
    };
    const Row rows[] = {
        {"", "(absent)", "(absent)"},
        {"client=a&ttl=5s", "a", "5s"},
        {"ttl=5s&client=a", "a", "5s"},
        {"x=1&client=a&&y&ttl=5s&", "a", "5s"},
        {"client&ttl=", "", ""},
        {"client=a=b&ttl==", "a=b", "="},
        {"client=a&client=b&ttl=1&ttl=%", "a", "1"},
        {"clients=a&tt=b&=c&lient=d", "(absent)", "(absent)"},
        {"client=a+b&%74tl=%35s", "a b", "5s"},
        {"client=%41&client=%", "A", "(absent)"},
        {"client=%&ttl=5s", "(malformed)", "5s"},
        {"client=a&ttl=%4", "a", "(malformed)"},
        {"client=a&%=1&ttl=5s", "a", "(malformed)"},
        {"%4=1&client=a&ttl=5s", "(malformed)", "(malformed)"},
        {"client=a&ttl=5s&%", "a", "5s"},
    };
    for (const Row& row : rows) {
        std::array wanted = {QueryParameter("client"), QueryParameter("ttl")};
        find_parameters(row.query, wanted);
        EXPECT_EQ(shown(wanted[0]), row.client) << row.query;
        EXPECT_EQ(shown(wanted[1]), row.ttl) << row.query;
    }
}

TEST(QueryParameters, AreThoseThatAreFoundOneByOne) {
    const std::string whole = "client=lap%20top&x&ttl=1m+30s&=&job=%C3%BC&%4a=b";
    for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
        // A copy of its own size, so that a sanitizer sees a read beyond its end.
        const std::string query = whole.substr(0, bytes);
        std::array wanted = {QueryParameter("client"), QueryParameter("ttl"), QueryParameter("job"),
                             QueryParameter("J")};
        find_parameters(query, wanted);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            constexpr std::array names = {"client", "ttl", "job", "J"};
            const auto alone = query_parameter(query, names[i]);
            const std::string expected = alone ? alone->value_or("(absent)") : "(malformed)";
            EXPECT_EQ(shown(wanted[i]), expected) << query << " " << names[i];
        }
    }
}

}  // namespace
}  // namespace holdfast::net
