#include "etcd/wire/protobuf.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace holdfast::etcd {
namespace {

TEST(FieldWriter, OmitsDefaultsUnlessTheyAreChosen) {
    std::string output;
    FieldWriter writer(output);
    writer.number(1, 0);
    writer.bytes(2, "");
    EXPECT_EQ(output, "");
    writer.chosen_number(1, 0);
    writer.chosen_bytes(2, "");
    EXPECT_EQ(output, std::string("\x08\0\x12\0", 4));
}

TEST(FieldWriter, WritesNumbersOfEverySize) {
    const auto written = [](std::int64_t value) {
        std::string output;
        FieldWriter(output).number(1, value);
        return output.substr(1);
    };
    EXPECT_EQ(written(1), "\x01");
    EXPECT_EQ(written(127), "\x7f");
    EXPECT_EQ(written(128), "\x80\x01");
    EXPECT_EQ(written(300), "\xac\x02");
    EXPECT_EQ(written(INT64_MAX), "\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
    EXPECT_EQ(written(-1), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    for (const std::int64_t value : {std::int64_t{1}, std::int64_t{1} << 40, INT64_MIN}) {
        std::string output;
        FieldWriter(output).number(1, value);
        FieldReader reader(output);
        ASSERT_TRUE(reader.next());
        EXPECT_EQ(reader.signed_number(), value);
    }
}

TEST(FieldWriter, WritesTheLengthOfALongMessageBeforeIt) {
    std::string output;
    FieldWriter(output).message(3, [](FieldWriter& writer) {
        writer.message(1, [](FieldWriter& inner) { inner.bytes(1, std::string(200, 'x')); });
    });
    // 200 bytes, 3 before them; 203 bytes, 3 before them.
    EXPECT_EQ(output.substr(0, 9), "\x1a\xce\x01\x0a\xcb\x01\x0a\xc8\x01");
    EXPECT_EQ(output.size(), 209U);
}

TEST(FieldReader, SkipsWhatItsUserDoesNotKnow) {
    // A number, 8 bytes, 4 bytes, a text.
    const std::string message("\x08\x05\x11zzzzzzzz\x1dyyyy\x22\x02hi", 20);
    FieldReader reader(message);
    std::string text;
    int count = 0;
    while (reader.next()) {
        ++count;
        if (reader.field() == 4) text = reader.bytes();
    }
    EXPECT_TRUE(reader.is_well_formed());
    EXPECT_EQ(count, 4);
    EXPECT_EQ(text, "hi");
}

TEST(FieldReader, RefusesWhatIsCutOffOrNoMessage) {
    const auto is_well_formed = [](std::string_view message) {
        FieldReader reader(message);
        while (reader.next()) {
        }
        return reader.is_well_formed();
    };
    EXPECT_TRUE(is_well_formed(""));
    EXPECT_TRUE(is_well_formed("\x0a\x02hi"));
    EXPECT_FALSE(is_well_formed("\x0a\x02h"));
    EXPECT_FALSE(is_well_formed("\x0a"));
    EXPECT_FALSE(is_well_formed("\x08"));
    EXPECT_FALSE(is_well_formed("\x08\xff"));
    EXPECT_FALSE(is_well_formed("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
    EXPECT_FALSE(is_well_formed("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
    EXPECT_FALSE(is_well_formed("\x0b"));                           // a group
    EXPECT_FALSE(is_well_formed(std::string_view("\x02\x00", 2)));  // field 0
    EXPECT_FALSE(is_well_formed("\x11zzz"));
    EXPECT_FALSE(is_well_formed("\x1dzzz"));
}

}  // namespace
}  // namespace holdfast::etcd
