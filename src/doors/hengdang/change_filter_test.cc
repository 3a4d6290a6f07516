#include "doors/hengdang/change_filter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::doors::hengdang {
namespace {

// Which of some paths a filter includes.
std::vector<std::string> included(std::string_view text) {
    const auto filter = ChangeFilter::read(text);
    EXPECT_TRUE(filter) << text;
    std::vector<std::string> found;
    for (const char* path : {"/a", "/a/b", "/a/b/c", "/ab", "/a b", "/100%"}) {
        if (filter && filter->includes(path)) found.emplace_back(path);
    }
    return found;
}

using Texts = std::vector<std::string>;

TEST(ChangeFilter, IsAPathAndEverythingBelowIt) {
    const Texts everything{"/a", "/a/b", "/a/b/c", "/ab", "/a b", "/100%"};
    EXPECT_EQ(included("/"), everything);
    EXPECT_EQ(included("/*"), everything);
    EXPECT_EQ(included("/a"), (Texts{"/a", "/a/b", "/a/b/c"}));
    EXPECT_EQ(included("/a/"), (Texts{"/a", "/a/b", "/a/b/c"}));
    EXPECT_EQ(included("/a/b/c"), (Texts{"/a/b/c"}));
    EXPECT_EQ(included("/nothing"), Texts{});
}

TEST(ChangeFilter, WithAStarIsOnlyWhatIsBelow) {
    EXPECT_EQ(included("/a/*"), (Texts{"/a/b", "/a/b/c"}));
    EXPECT_EQ(included("/a//*"), (Texts{"/a/b", "/a/b/c"})) << "as the drive app writes it";
    EXPECT_EQ(included("/a/b/*"), (Texts{"/a/b/c"}));
}

TEST(ChangeFilter, IsWrittenAsAnswersShowPaths) {
    EXPECT_EQ(included("/a%20b"), (Texts{"/a b"}));
    EXPECT_EQ(included("/a b"), (Texts{"/a b"}));
    EXPECT_EQ(included("/100%25"), (Texts{"/100%"}));
    for (const char* text : {"/", "/a%20b", "/a/*", "/*"}) {
        EXPECT_EQ(ChangeFilter::read(text)->text(), text);
    }
}

TEST(ChangeFilter, ThatCannotBeReadIsRefused) {
    for (const char* text : {"", "a", "*", "/100%", "/../x", "/a//b", "/a///*", "/.holdfast"}) {
        const auto filter = ChangeFilter::read(text);
        ASSERT_FALSE(filter) << text;
        EXPECT_EQ(filter.error().status, 400) << text;
        EXPECT_NE(filter.error().body.find("Invalid path filter"), std::string::npos) << text;
    }
}

}  // namespace
}  // namespace holdfast::doors::hengdang
