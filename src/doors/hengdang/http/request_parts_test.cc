#include "doors/hengdang/http/request_parts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::doors::hengdang {
namespace {

RangeChoice part(std::uint64_t start, std::uint64_t end) {
    return {.kind = RangeChoice::Kind::part, .span = {.start = start, .end = end}};
}

TEST(ByteRange, IsChosenFromAFile) {
    const RangeChoice whole, none{.kind = RangeChoice::Kind::unsatisfiable};
    const std::vector<std::pair<std::string, RangeChoice>> rows{
        {"bytes=0-0", part(0, 1)},
        {"bytes=2-4", part(2, 5)},
        {"bytes=0-9", part(0, 10)},
        {"bytes=0-10", part(0, 10)},
        {"bytes=9-9", part(9, 10)},
        {"bytes=3-", part(3, 10)},
        {"bytes=-3", part(7, 10)},
        {"bytes=-30", part(0, 10)},
        {"bytes=10-", none},
        {"bytes=10-11", none},
        {"bytes=-0", none},
        {"bytes=5-4", whole},
        {"bytes=", whole},
        {"bytes=-", whole},
        {"bytes=a-b", whole},
        {"bytes=1-2,4-5", whole},
        {"bytes= 1-2", whole},
        {"bytes=+1-2", whole},
        {"bites=1-2", whole},
        {"", whole},
        {"bytes=0-18446744073709551615", part(0, 10)},
        {"bytes=0-18446744073709551616", whole},
        {"bytes=18446744073709551615-", none}};
    for (const auto& [header, expected] : rows) {
        EXPECT_EQ(choose_range(header, 10), expected) << header;
    }
    EXPECT_EQ(choose_range("bytes=0-0", 0), none);
    EXPECT_EQ(choose_range("bytes=-1", 0), none);
}

TEST(ByteRange, OfAWriteHasBothItsEnds) {
    EXPECT_EQ(parse_content_range("bytes 0-0/*"), (ByteSpan{0, 1}));
    EXPECT_EQ(parse_content_range("bytes 5-9/10"), (ByteSpan{5, 10}));
    for (const char* header :
         {"", "bytes", "bytes 0-0", "bytes 5-4/*", "bytes -4/*", "bytes 4-/*", "bytes */*",
          "bytes 0-0/x", "bytes=0-0/*", "bytes 0-9223372036854775807/*",
          "bytes 0-18446744073709551615/*", "bytes 0/0-1", "bytes 0-0/"}) {
        EXPECT_FALSE(parse_content_range(header)) << header;
    }
}

}  // namespace
}  // namespace holdfast::doors::hengdang
