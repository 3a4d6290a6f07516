#include "core/containers/growing_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::core {
namespace {

using Numbers = GrowingMap<std::uint64_t, std::string>;

TEST(GrowingMap, FindsWhatWasPutIn) {
    Numbers map;
    EXPECT_TRUE(map.empty());
    map[7] = "seven";
    map[8] = "eight";
    ASSERT_NE(map.find(7), nullptr);
    EXPECT_EQ(*map.find(7), "seven");
    EXPECT_EQ(map.find(9), nullptr);
    map.erase(7);
    map.erase(7);
    EXPECT_EQ(map.find(7), nullptr);
    EXPECT_EQ(map.size(), 1U);
    map.clear();
    EXPECT_TRUE(map.empty());
    EXPECT_EQ(map.find(8), nullptr);
    EXPECT_EQ(map[8], "");
}

TEST(GrowingMap, MayBeMoved) {
    Numbers map;
    for (std::uint64_t key = 0; key < 1000; ++key) map[key] = std::to_string(key);
    Numbers other = std::move(map);
    map = Numbers();
    EXPECT_TRUE(map.empty());
    EXPECT_EQ(other.size(), 1000U);
    EXPECT_EQ(*other.find(77), "77");
    map = std::move(other);
    EXPECT_EQ(*map.find(999), "999");
}

TEST(GrowingMap, VisitsAllInOneOrder) {
    const auto visit = [] {
        Numbers map;
        for (std::uint64_t key = 0; key < 1000; ++key) map[key * 7919 % 1000] = "x";
        for (std::uint64_t key = 0; key < 1000; key += 3) map.erase(key);
        std::vector<std::uint64_t> keys;
        map.for_each([&](std::uint64_t key, const std::string&) { keys.push_back(key); });
        return keys;
    };
    EXPECT_EQ(visit().size(), 666U);
    EXPECT_EQ(visit(), visit());
}

TEST(GrowingMap, AgreesWithAMap) {
    Numbers map;
    std::map<std::uint64_t, std::string> model;
    std::mt19937_64 random(5);
    for (int i = 0; i < 400'000; ++i) {
        const std::uint64_t key = random() % 100'000;
        const bool grows = i < 200'000;
        if ((random() % 3 != 0) == grows) {
            map[key] = model[key] = std::to_string(i);
        } else {
            map.erase(key);
            model.erase(key);
        }
        ASSERT_EQ(map.size(), model.size());
    }
    for (std::uint64_t key = 0; key < 100'000; ++key) {
        const auto found = model.find(key);
        const std::string* const value = map.find(key);
        ASSERT_EQ(value == nullptr, found == model.end());
        if (value != nullptr) {
            ASSERT_EQ(*value, found->second);
        }
    }
}

}  // namespace
}  // namespace holdfast::core
