#include "store/journal/journal_text.h"

#include <gtest/gtest.h>

#include <limits>

#include "store/tables/test_leases.h"

namespace holdfast::store {
namespace {

using namespace testing;

constexpr JournalText::Reference reference{.last_token = 1'000,
                                           .written_at = service::WallTime{5'000'000us}};

// A lease with the usual values.
LeaseRow usual() {
    return {.fence = 998,
            .secret = 0xab,
            .name = "backup",
            .owner = "conn-1",
            .door = core::Door{3},
            .ttl = 30s,
            .version = 1,
            .acquired_at = service::WallTime{4'999'900us},
            .expires_at = service::WallTime{34'999'900us},
            .start_number = 7};
}

std::string text_of(const LeaseRow& row) {
    JournalText text;
    text.begin(reference);
    CHECK(text.add(view_of(row)));
    return std::string(text.finish());
}

// Leases that differ from the usual one in one value each.
std::vector<LeaseRow> unusual() {
    std::vector<LeaseRow> rows;
    const auto add = [&rows](auto LeaseRow::*member, auto value) {
        rows.push_back(usual());
        rows.back().*member = value;
    };
    constexpr auto largest = std::numeric_limits<std::uint64_t>::max();
    add(&LeaseRow::fence, std::uint64_t{1});
    add(&LeaseRow::fence, core::as_number(core::fence_max));
    add(&LeaseRow::secret, largest);
    add(&LeaseRow::kind, core::ScopeKind::path);
    add(&LeaseRow::name, "");
    add(&LeaseRow::inode, largest);
    add(&LeaseRow::inode, largest / 2 + 1);
    add(&LeaseRow::range, core::Range{.start = largest / 2, .end = largest - 1});
    add(&LeaseRow::range, core::Range{.start = largest / 2 + 1, .end = core::Range::end_of_file});
    add(&LeaseRow::owner, "");
    add(&LeaseRow::door, core::Door{255});
    add(&LeaseRow::mode, core::Mode::shared);
    add(&LeaseRow::permits, std::numeric_limits<std::uint32_t>::max());
    add(&LeaseRow::state, core::LeaseState::grace);
    add(&LeaseRow::ttl, core::Duration{24h * 366});
    add(&LeaseRow::grace, core::Duration{24h * 366});
    add(&LeaseRow::memory, core::Duration{24h * 366});
    add(&LeaseRow::version, core::as_number(core::fence_max));
    add(&LeaseRow::acquired_at, service::WallTime{});
    add(&LeaseRow::acquired_at, service::WallTime{6'000'000us});
    add(&LeaseRow::expires_at, service::WallTime{});
    add(&LeaseRow::request_id, "attempt 1");
    add(&LeaseRow::metadata, "nightly");
    add(&LeaseRow::start_number, std::numeric_limits<std::int64_t>::max());
    for (const char* text : {"\"", "\\", "\x01\x1f\b\f\n\r\t", "\x7f", "\xC3\xA4\xE2\x82\xAC",
                             "\xF0\x9F\x94\x92", "\xEF\xBF\xBD", "a'b%s\\u0041", "[]{},:"}) {
        add(&LeaseRow::name, text);
        add(&LeaseRow::owner, text);
        add(&LeaseRow::request_id, text);
        add(&LeaseRow::metadata, text);
    }
    return rows;
}

// The row that the view `journal_leases` makes of a text.
std::optional<LeaseRow> read_back(const std::string& text, std::int64_t start_number) {
    auto database = *Database::open(":memory:");
    CHECK(prepare_schema(database).has_value());
    auto insert = *database.prepare("INSERT INTO journal VALUES (1, ?, ?, ?, ?)");
    insert.bind(1, start_number);
    insert.bind(2, static_cast<std::int64_t>(reference.last_token));
    insert.bind(3, reference.written_at.time_since_epoch().count());
    insert.bind(4, text);
    CHECK(insert.run().has_value());
    const std::string sql = "SELECT " + lease_column_names() + " FROM journal_leases";
    auto select = *database.prepare(sql.c_str());
    CHECK(select.step().value());
    return read_row(select);
}

TEST(JournalText, LeavesOutUsualValuesAtTheEnd) {
    EXPECT_EQ(text_of(usual()), R"([[2,"00000000000000ab","backup","conn-1",100,30000000,3,1]])");
    LeaseRow row = usual();
    row.grace = 5us;
    EXPECT_EQ(text_of(row), R"([[2,"00000000000000ab","backup","conn-1",100,30000000,3,1,0,5]])");
    row = usual();
    row.mode = core::Mode::shared;
    EXPECT_EQ(text_of(row), R"([[2,"00000000000000ab","backup","conn-1",100,30000000,3,1,)"
                            R"(0,0,"","","named","shared"]])");
}

TEST(JournalText, WritesEveryColumn) {
    LeaseRow row = usual();
    row.kind = core::ScopeKind::range;
    row.inode = 9;
    row.range = {.start = 10, .end = 20};
    row.mode = core::Mode::shared;
    row.permits = 4;
    row.state = core::LeaseState::grace;
    row.memory = 6us;
    row.grace = 7us;
    row.request_id = "id";
    row.metadata = "\"x\"\n";
    row.expires_at += 8us;
    EXPECT_EQ(text_of(row), R"([[2,"00000000000000ab","backup","conn-1",100,30000000,3,1,)"
                            R"(6,7,"id","\"x\"\n","range","shared",4,8,"grace",9,10,20]])");
}

TEST(JournalText, JoinsLeasesAndEnds) {
    JournalText text;
    text.begin(reference);
    EXPECT_TRUE(text.empty());
    const LeaseRow row = usual();
    EXPECT_TRUE(text.add(view_of(row)));
    text.add_end(1'000);
    text.add_end(4);
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(text.finish(),
              R"([[2,"00000000000000ab","backup","conn-1",100,30000000,3,1],0,996])");
    text.begin({.last_token = 3});
    EXPECT_TRUE(text.empty());
    text.add_end(5);
    EXPECT_EQ(text.finish(), "[-2]");
}

TEST(JournalText, IsReadBackAsItWas) {
    for (const LeaseRow& row : unusual()) {
        const std::string text = text_of(row);
        EXPECT_EQ(read_back(text, row.start_number), row) << text;
    }
    std::mt19937_64 random(1);
    for (std::uint64_t fence = 1; fence < 300; ++fence) {
        LeaseRow row = random_row(random, fence);
        row.state = fence % 2 == 0 ? core::LeaseState::held : core::LeaseState::grace;
        JournalText text;
        text.begin(reference);
        if (!text.add(view_of(row))) continue;
        EXPECT_EQ(read_back(std::string(text.finish()), 0), row);
    }
}

TEST(JournalText, RefusesALeaseWhoseNameIsNotText) {
    const LeaseRow before = usual();
    for (const std::string& odd : {std::string("\xFF"), std::string("a\0b", 3)}) {
        for (auto member :
             {&LeaseRow::name, &LeaseRow::owner, &LeaseRow::request_id, &LeaseRow::metadata}) {
            LeaseRow row = usual();
            row.*member = odd;
            JournalText text;
            text.begin(reference);
            EXPECT_FALSE(text.add(view_of(row)));
            EXPECT_TRUE(text.empty());
            EXPECT_TRUE(text.add(view_of(before)));
            EXPECT_FALSE(text.add(view_of(row)));
            EXPECT_EQ(text.finish(), text_of(before)) << "nothing is left of it";
        }
    }
}

TEST(JournalText, MakesRoomForTheLongestTexts) {
    LeaseRow row = usual();
    row.name.assign(4'096, '\x01');
    row.metadata.assign(100'000, '"');
    JournalText text;
    for (int round = 0; round < 2; ++round) {
        text.begin(reference);
        std::size_t size = 1;
        for (int more = 0; more < 8; ++more) {
            EXPECT_TRUE(text.add(view_of(row)));
            size += text_of(row).size() - 1;
        }
        EXPECT_EQ(text.finish().size(), size);
    }
}

}  // namespace
}  // namespace holdfast::store
