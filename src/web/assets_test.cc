#include "web/assets.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace holdfast::web {
namespace {

constexpr std::size_t all_bytes_max = std::size_t{200} * 1024;

TEST(Assets, AreSmall) {
    std::size_t bytes = 0;
    for (const Asset& asset : assets()) bytes += asset.bytes.size();
    EXPECT_LT(bytes, all_bytes_max);
    EXPECT_GT(bytes, 10'000);
}

TEST(Assets, HaveTagsOfTheirOwn) {
    std::set<std::string_view> tags;
    for (const Asset& asset : assets()) {
        EXPECT_TRUE(asset.tag.starts_with('"') && asset.tag.ends_with('"')) << asset.tag;
        tags.insert(asset.tag);
    }
    EXPECT_EQ(tags.size(), assets().size());
}

// A module that is missing here would be missed only by the one view that needs it.
TEST(Assets, AreAllThatTheModulesImport) {
    for (const Asset& asset : assets()) {
        const std::string_view from = " from './";
        for (std::size_t at = 0; (at = asset.bytes.find(from, at)) != std::string_view::npos;) {
            at += from.size();
            const std::string name(asset.bytes.substr(at, asset.bytes.find('\'', at) - at));
            EXPECT_NE(find_asset("/ui/" + name), nullptr) << asset.path << " imports " << name;
        }
    }
}

}  // namespace
}  // namespace holdfast::web
