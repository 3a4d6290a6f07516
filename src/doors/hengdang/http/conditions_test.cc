#include "doors/hengdang/http/conditions.h"

#include <gtest/gtest.h>

namespace holdfast::doors::hengdang {
namespace {

const files::FileInfo version{.hash = "abc",
                              .timestamp_ms = 784'111'777'500};  // "abc-784111777500"
const char* const version_date = "Sun, 06 Nov 1994 08:49:37 GMT";
const char* const date_before = "Sun, 06 Nov 1994 08:49:36 GMT";

TEST(HttpDate, IsReadAsItIsWritten) {
    EXPECT_EQ(to_http_date(modified_at(version)), version_date);
    EXPECT_EQ(parse_http_date(version_date), modified_at(version));
    for (const char* text : {"", "yesterday", "Sunday, 06-Nov-94 08:49:37 GMT",
                             "Sun Nov  6 08:49:37 1994", "Mon, 06 Nov 1994 08:49:37 GMT",
                             "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 30 Feb 1994 08:49:37 GMT",
                             "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMTx"}) {
        EXPECT_FALSE(parse_http_date(text)) << text;
    }
}

TEST(Conditions, TagsAreNamedInLists) {
    const std::string tag = version.etag();
    EXPECT_EQ(tag, "\"abc-784111777500\"");
    for (const std::string& list :
         {tag, "\"x\", " + tag, tag + ",\"x\"", "\"x\"  ,\t" + tag, std::string("*")}) {
        EXPECT_TRUE(is_tag_list(list)) << list;
        EXPECT_TRUE(names_tag(list, tag, TagComparison::strong)) << list;
    }
    for (const char* list : {"", ",", "abc", "**", "\"", "\"a", "a\"", "\"a\" \"b\"", "\"a\",",
                             "w/\"a\"", "W/", "\"a\",*", "abc-784111777500"}) {
        EXPECT_FALSE(is_tag_list(list)) << list;
    }
    for (const std::string& list :
         {std::string(), std::string(","), std::string("\"x\""), std::string("\"abc\""),
          std::string("**"), std::string("abc-784111777500")}) {
        EXPECT_FALSE(names_tag(list, tag, TagComparison::weak)) << list;
    }
    EXPECT_TRUE(names_tag("W/" + tag, tag, TagComparison::weak));
    EXPECT_FALSE(names_tag("W/" + tag, tag, TagComparison::strong));
}

TEST(Conditions, OfAWriteAreHeldAgainstWhatIsThere) {
    const std::string tag = version.etag();
    const auto before = parse_http_date(date_before), then = parse_http_date(version_date);
    EXPECT_FALSE(find_broken({}, nullptr));
    EXPECT_FALSE(find_broken({.if_match = tag}, &version));
    EXPECT_TRUE(find_broken({.if_match = "\"x\""}, &version));
    EXPECT_TRUE(find_broken({.if_match = "*"}, nullptr));
    EXPECT_FALSE(find_broken({.if_none_match = "*"}, nullptr));
    EXPECT_TRUE(find_broken({.if_none_match = "*"}, &version));
    EXPECT_FALSE(find_broken({.if_none_match = "\"x\""}, &version));
    EXPECT_FALSE(find_broken({.if_unmodified_since = then}, &version));
    EXPECT_TRUE(find_broken({.if_unmodified_since = before}, &version));
    EXPECT_FALSE(find_broken({.if_unmodified_since = before}, nullptr));
    // A tag says more than a date.
    EXPECT_FALSE(find_broken({.if_match = tag, .if_unmodified_since = before}, &version));
    EXPECT_TRUE(find_broken({.if_match = tag, .if_none_match = tag}, &version));
}

TEST(Conditions, OfAReadTellWhatIsKnown) {
    const std::string tag = version.etag();
    const auto before = parse_http_date(date_before), then = parse_http_date(version_date);
    using Verdict = ReadVerdict;
    EXPECT_EQ(judge_read({}, version), Verdict::send);
    EXPECT_EQ(judge_read({.if_none_match = tag}, version), Verdict::not_modified);
    EXPECT_EQ(judge_read({.if_none_match = "\"x\""}, version), Verdict::send);
    EXPECT_EQ(judge_read({.if_modified_since = then}, version), Verdict::not_modified);
    EXPECT_EQ(judge_read({.if_modified_since = before}, version), Verdict::send);
    EXPECT_EQ(judge_read({.if_none_match = "\"x\"", .if_modified_since = then}, version),
              Verdict::send);
    EXPECT_EQ(judge_read({.if_match = "\"x\""}, version), Verdict::precondition_failed);
    EXPECT_EQ(judge_read({.if_unmodified_since = before}, version), Verdict::precondition_failed);
}

}  // namespace
}  // namespace holdfast::doors::hengdang
