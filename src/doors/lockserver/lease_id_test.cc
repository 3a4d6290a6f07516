#include "doors/lockserver/lease_id.h"

#include <gmock/gmock.h>

namespace holdfast::doors::lockserver {
namespace {

using ::testing::MatchesRegex;

std::string text_of(const LeaseId& id) {
    std::string text;
    append_lease_id(text, id);
    return text;
}

TEST(LeaseId, LooksLikeARandomUuidAndComesBack) {
    for (const std::uint64_t fence :
         {std::uint64_t{1}, std::uint64_t{0x123456789abcd}, core::as_number(core::fence_max)}) {
        for (const std::uint64_t secret :
             {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0xfedcba9876543210}, UINT64_MAX}) {
            for (const auto kind :
                 {core::ScopeKind::named, core::ScopeKind::semaphore, core::ScopeKind::range}) {
                const LeaseId id{kind, {core::Fence{fence}, core::Secret{secret}}};
                const std::string text = text_of(id);
                EXPECT_THAT(text, MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]"
                                               "{3}-[0-9a-f]{12}"));
                EXPECT_EQ(parse_lease_id(text), id) << text;
            }
        }
    }
}

TEST(LeaseId, IsAppended) {
    std::string text = "lease ";
    append_lease_id(text, {});
    EXPECT_EQ(text, "lease 00000000-0000-4000-8000-000000000000");
}

TEST(LeaseId, IsNothingElse) {
    const std::string good = text_of({core::ScopeKind::named, {core::Fence{7}, core::Secret{9}}});
    EXPECT_TRUE(parse_lease_id(good));
    for (std::size_t size = 0; size < good.size(); ++size) {
        EXPECT_FALSE(parse_lease_id(good.substr(0, size)));
    }
    EXPECT_FALSE(parse_lease_id(good + "0"));
    EXPECT_FALSE(parse_lease_id("00000000-0000-1000-8000-000000000000")) << "version 1";
    EXPECT_FALSE(parse_lease_id("00000000-0000-4000-0000-000000000000")) << "another variant";
    EXPECT_FALSE(parse_lease_id("00000000-0000-4000-8000-00000000000G"));
    EXPECT_FALSE(parse_lease_id("0000000000000-4000-8000-000000000000"));
    EXPECT_FALSE(parse_lease_id("ffffffff-ffff-4fff-bfff-ffffffffffff")) << "no such kind";
    EXPECT_FALSE(parse_lease_id("ABCDEF00-0000-4000-8000-000000000000")) << "one spelling each";
}

}  // namespace
}  // namespace holdfast::doors::lockserver
