#include "cli/screen/table.h"

#include <gmock/gmock.h>

namespace holdfast::cli {
namespace {

using ::testing::ElementsAre;

Table example() {
    Table table({{.title = "LOCK", .width_min = 5},
                 {.title = "LEFT", .align = Align::right},
                 {.title = "HOLDER", .width_min = 4}});
    table.add({"nightly-backup", "24.5s", "w1"});
    table.add({"x", "1h00m", "laptop of somebody"});
    return table;
}

TEST(Table, LinesUp) {
    EXPECT_THAT(example().lines({}), ElementsAre("LOCK             LEFT  HOLDER",  //
                                                 "nightly-backup  24.5s  w1",      //
                                                 "x               1h00m  laptop of somebody"));
}

TEST(Table, NarrowsTheWidestFirst) {
    EXPECT_THAT(example().lines({.width_max = 30}),
                ElementsAre("LOCK         LEFT  HOLDER",   //
                            "nightly-b\u2026  24.5s  w1",  //
                            "x           1h00m  laptop of \u2026"));
}

TEST(Table, IsNeverNarrowerThanItCanBe) {
    EXPECT_THAT(example().lines({.width_max = 1}), ElementsAre("LOCK    LEFT  HOL\u2026",  //
                                                               "nigh\u2026  24.5s  w1",    //
                                                               "x      1h00m  lap\u2026"));
}

TEST(Table, WithoutRowsHasItsTitles) {
    EXPECT_THAT(Table({{.title = "LOCK"}}).lines({}), ElementsAre("LOCK"));
    EXPECT_TRUE(Table({{.title = "LOCK"}}).is_empty());
}

TEST(Table, ColoursTakeNoRoom) {
    Table table({{.title = "A"}, {.title = "B"}});
    table.add({Cell("x", Style::green), "y"});
    EXPECT_THAT(table.lines({.has_colour = true}),
                ElementsAre("\x1b[1mA\x1b[0m  \x1b[1mB\x1b[0m", "\x1b[32mx\x1b[0m  y"));
}

}  // namespace
}  // namespace holdfast::cli
