#include "store/journal/journal_entry.h"

#include <gtest/gtest.h>

#include <limits>

#include "store/tables/test_leases.h"

namespace holdfast::store {
namespace {

using namespace testing;

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

// The entry refers to the texts of the rows.
JournalEntry entry_of(const std::vector<LeaseRow>& rows) {
    JournalEntry entry{.start_number = 7, .last_token = 1'000, .puts = {}, .ends = {}, .marks = {}};
    for (const LeaseRow& row : rows) {
        entry.puts.push_back({.row = view_of(row), .is_new = row.fence % 2 == 0});
        entry.puts.back().row.start_number = entry.start_number;
    }
    return entry;
}

std::string bytes_of(const JournalEntry& entry) {
    std::string memory;
    return std::string(write_entry(entry, memory));
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
    add(&LeaseRow::kind, core::ScopeKind::range);
    add(&LeaseRow::name, "");
    add(&LeaseRow::inode, largest);
    add(&LeaseRow::range, core::Range{.start = largest / 2, .end = largest - 1});
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
    add(&LeaseRow::acquired_at, service::WallTime{-6'000'000us});
    add(&LeaseRow::expires_at, service::WallTime{});
    for (const std::string& text :
         {std::string("attempt 1"), std::string("\"\n\\"), std::string("\xFF\xFE"),
          std::string("a\0b", 3), std::string(100'000, 'x')}) {
        add(&LeaseRow::name, text);
        add(&LeaseRow::owner, text);
        add(&LeaseRow::request_id, text);
        add(&LeaseRow::metadata, text);
        add(&LeaseRow::members, text);
        add(&LeaseRow::value, text);
        add(&LeaseRow::waiter, text);
    }
    add(&LeaseRow::revision, std::uint64_t{1});
    add(&LeaseRow::revision, core::as_number(core::fence_max));
    return rows;
}

TEST(JournalEntry, IsShort) {
    const std::vector<LeaseRow> one{usual()};
    EXPECT_EQ(bytes_of(entry_of(one)).size(), 2U + 1 + 1 + 2 + 8 + 7 + 7 + 4 + 4 + 1 + 1);
    JournalEntry ends = entry_of({});
    ends.ends = {998, 999, 997};
    EXPECT_EQ(bytes_of(ends).size(), 3U + 3 * 2 + 1);
}

TEST(JournalEntry, IsReadBackAsItWas) {
    const std::vector<LeaseRow> rows = unusual();
    for (const LeaseRow& row : rows) {
        const std::vector<LeaseRow> one{row};
        const JournalEntry entry = entry_of(one);
        const std::string bytes = bytes_of(entry);
        EXPECT_EQ(read_entry(bytes), entry);
    }
    JournalEntry all = entry_of(rows);
    all.last_token = core::as_number(core::fence_max);
    all.ends = {5, 1, core::as_number(core::fence_max)};
    EXPECT_EQ(read_entry(bytes_of(all)), all);
    all.waits = {{.fence = 9, .waited = 1us}, {.fence = 3, .waited = 24h * 366}};
    all.holds = {{.fence = 5, .at = service::WallTime{-1us}, .ending = service::Ending::restart},
                 {.fence = 1, .at = service::WallTime{99h}, .ending = service::Ending::released}};
    all.marks = {{.resource = "bucket", .highest = 5}, {.resource = "", .highest = 0}};
    const std::string bytes = bytes_of(all);
    EXPECT_EQ(read_entry(bytes), all);
    JournalEntry nothing;
    nothing.start_number = 1;
    EXPECT_EQ(read_entry(bytes_of(nothing)), nothing);
}

// As version 4 of the file wrote it, with its last optional value.
TEST(JournalEntry, OfTheVersionBeforeIsRead) {
    LeaseRow row = usual();
    row.fence = 1;
    row.secret = 0;
    row.name = "a";
    row.owner = "b";
    row.kind = core::ScopeKind::range;
    row.range.end = 5;
    const std::vector<LeaseRow> rows{row};
    JournalEntry entry = entry_of(rows);
    entry.puts.front().is_new = true;
    const std::string bytes(
        "\x07\xe8\x07"          // start number, last token
        "\xa3\x20"              // 2 + bits: new, kind, end of the range
        "\x02\0\0\0\0\0\0\0\0"  // fencing number, secret
        "\x01"
        "a"
        "\x01"
        "b"                                 // name, owner
        "\xb8\xab\xe2\x04\x80\x87\xa7\x0e"  // acquired at, ttl
        "\x03\x01\x04\x05",                 // door, version, kind, end
        3 + 2 + 9 + 4 + 8 + 4);
    EXPECT_EQ(bytes_of(entry), bytes);
    EXPECT_EQ(read_entry(bytes), entry);
}

TEST(JournalEntry, WithoutAHistoryIsAsVersionsThatHadNoneWroteIt) {
    const std::vector<LeaseRow> rows{usual()};
    JournalEntry entry = entry_of(rows);
    entry.ends = {5};
    const std::string before = bytes_of(entry);
    EXPECT_EQ(before[0], 7);  // the start
    entry.holds = {{.fence = 5, .at = service::WallTime{5s}}};
    const std::string with_hold = bytes_of(entry);
    EXPECT_EQ(with_hold[0], 0);
    EXPECT_EQ(with_hold.size(), before.size() + 1 + 5);
    // There is one way to write an entry.
    EXPECT_EQ(read_entry(std::string(1, '\0') + before), std::nullopt);
    EXPECT_EQ(read_entry(with_hold.substr(1)), std::nullopt);
}

// As a version without names wrote it, with every element that there is.
TEST(JournalEntry, OfAVersionWithoutNamesIsReadAndWrittenAsBefore) {
    LeaseRow row = usual();
    row.fence = 2;
    row.secret = 0;
    row.name = "a";
    row.owner = "b";
    const std::vector<LeaseRow> rows{row};
    JournalEntry entry = entry_of(rows);
    entry.ends = {1};
    entry.waits = {{.fence = 2, .waited = 5us}};
    entry.holds = {{.fence = 1, .at = service::WallTime{5s}, .ending = service::Ending::forced}};
    entry.marks = {{.resource = "r", .highest = 9}};
    const std::string bytes(
        "\0\x07\xe8\x07"        // it has a history; start number, last token
        "\x05"                  // 4 + bits: new
        "\x04\0\0\0\0\0\0\0\0"  // fencing number, secret
        "\x01"
        "a"
        "\x01"
        "b"                                 // name, owner
        "\xb8\xab\xe2\x04\x80\x87\xa7\x0e"  // acquired at, ttl
        "\x03\x01"                          // door, version
        "\0\x01"                            // the end of lease 1
        "\x03\x02\x05"                      // a wait
        "\x02\x01\xc8\x01\x02"              // a hold: number, when, how
        "\x01\x01r\x09",                    // a fence
        4 + 1 + 9 + 4 + 8 + 2 + 2 + 3 + 5 + 4);
    EXPECT_EQ(bytes_of(entry), bytes);
    EXPECT_EQ(read_entry(bytes), entry);
}

TEST(JournalEntry, HasEachNameOnce) {
    std::vector<LeaseRow> rows{usual(), usual(), usual(), usual()};
    rows[0].granted_by = "ci";
    rows[1].granted_by = "http@192.0.2.7";
    rows[3].granted_by = "ci";
    JournalEntry entry = entry_of(rows);
    entry.holds = {{.fence = 5, .at = service::WallTime{5s}, .by = "ops"},
                   {.fence = 6, .at = service::WallTime{6s}},
                   {.fence = 7, .at = service::WallTime{7s}, .by = "ci"}};
    const std::string bytes = bytes_of(entry);
    EXPECT_EQ(read_entry(bytes), entry);
    JournalEntry without = entry;
    for (JournalEntry::Put& put : without.puts) put.row.granted_by = {};
    for (JournalEntry::EndedHold& hold : without.holds) hold.by = {};
    const std::size_t names = std::string_view("cihttp@192.0.2.7ops").size() + 3;
    EXPECT_EQ(bytes.size(),
              bytes_of(without).size() + 1 + rows.size() + entry.holds.size() + names);
}

TEST(JournalEntry, WithNamesHasOneForm) {
    std::vector<LeaseRow> rows{usual(), usual()};
    rows[0].granted_by = "ci";
    rows[1].granted_by = "ops";
    const std::string bytes = bytes_of(entry_of(rows));
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        for (int value = 0; value < 256; ++value) {
            std::string damaged = bytes;
            damaged[at] = static_cast<char>(value);
            const auto entry = read_entry(damaged);
            if (entry) {
                EXPECT_EQ(bytes_of(*entry), damaged);
            }
        }
    }
    std::string twice = bytes;
    const auto place = twice.find("\x03ops");
    twice.replace(place, 4,
                  "\x02"
                  "ci");
    EXPECT_EQ(read_entry(twice), std::nullopt) << "a name is new once";
}

TEST(JournalEntry, HasEveryPossibleLease) {
    std::mt19937_64 random(1);
    std::vector<LeaseRow> rows;
    for (std::uint64_t fence = 1; fence < 500; ++fence) rows.push_back(random_row(random, fence));
    const JournalEntry entry = entry_of(rows);
    const std::string bytes = bytes_of(entry);
    EXPECT_EQ(read_entry(bytes), entry);
}

// Whatever is cut off is noticed, unless the rest is an entry with fewer elements.
TEST(JournalEntry, IsRefusedInPart) {
    const std::vector<LeaseRow> rows{usual(), usual()};
    const JournalEntry entry = entry_of(rows);
    const std::string bytes = bytes_of(entry);
    std::size_t readable = 0;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const auto part = read_entry(std::string_view(bytes).substr(0, size));
        if (!part) continue;
        ++readable;
        EXPECT_LT(part->puts.size(), entry.puts.size());
    }
    EXPECT_EQ(readable, 2U);
}

// What is read is what would be written, so that there is one meaning to every sequence of bytes.
TEST(JournalEntry, IsRefusedIfNoServerCanHaveWrittenIt) {
    const std::vector<LeaseRow> rows{usual(), usual()};
    const std::string bytes = bytes_of(entry_of(rows));
    int refused = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        for (int value = 0; value < 256; ++value) {
            std::string damaged = bytes;
            damaged[at] = static_cast<char>(value);
            const auto entry = read_entry(damaged);
            if (entry) {
                EXPECT_EQ(bytes_of(*entry), damaged);
            } else {
                ++refused;
            }
        }
    }
    EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace holdfast::store
