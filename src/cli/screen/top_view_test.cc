#include "cli/screen/top_view.h"

#include <gmock/gmock.h>

namespace holdfast::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

LockRow lock(const std::string& name, const std::string& owner, std::int64_t expires_ms) {
    return {.name = name,
            .holders = {{.owner = owner,
                         .fencing_token = 1,
                         .expires_ms = expires_ms,
                         .ttl_ms = 30'000,
                         .acquired_ms = 1'000}}};
}

LockBoard example_board() {
    LockRow nightly = lock("nightly", "w1", 25'000);
    nightly.waiter_count = 3;
    nightly.waiters = {{.owner = "w2", .waits_for = "w1", .since_ms = 7'000},
                       {.owner = "w3", .waits_for = "w2", .since_ms = 9'000}};
    LockBoard board;
    board.replace({nightly, lock("deploy", "laptop", 11'500)});
    return board;
}

TopState state(std::size_t height = 10) {
    return {.server = "http://127.0.0.1:8080", .now_ms = 10'000, .width = 90, .height = height};
}

TEST(TopView, ShowsHoldersQueuesAndCountdowns) {
    EXPECT_THAT(
        draw_top(example_board(), state()).lines,
        ElementsAre(
            "holdfast  http://127.0.0.1:8080  2 held  3 waiting  2 locks  00:00:10", "",
            "LOCK                 KIND   OWNER   MODE        LEFT              QUEUE  NOTE",
            "deploy               named  laptop  exclusive   1.5s  █░░░░░░░░░",
            "nightly              named  w1      exclusive  15.0s  █████░░░░░      3",
            "  └ 1. in the queue         w2      exclusive   3.0s  waiting            for w1",
            "  └ 2. in the queue         w3      exclusive   1.0s  waiting            for w2",
            "  └ 1 more", "", "q quit   / filter   s sorted by name   arrows scroll"));
}

TEST(TopView, IsAsLargeAsTheScreen) {
    for (std::size_t height = 1; height < 20; ++height) {
        for (std::size_t width = 1; width < 100; width += 7) {
            TopState small = state(height);
            small.width = width;
            const TopPicture picture = draw_top(example_board(), small);
            EXPECT_EQ(picture.lines.size(), std::max<std::size_t>(height, 1)) << height;
        }
    }
}

TEST(TopView, ScrollsAsFarAsThereIsSomething) {
    TopState now = state(6);  // two rows
    TopPicture picture = draw_top(example_board(), now);
    EXPECT_EQ(picture.row_count, 5U);
    EXPECT_EQ(picture.rows_shown, 2U);
    EXPECT_THAT(picture.lines.back(), HasSubstr("1-2 of 5"));
    EXPECT_EQ(press_key(now, picture, "down"), TopStep::go_on);
    EXPECT_THAT(draw_top(example_board(), now).lines.back(), HasSubstr("2-3 of 5"));
    press_key(now, picture, "end");
    EXPECT_EQ(now.first_row, 3U);
    press_key(now, picture, "page down");
    EXPECT_EQ(now.first_row, 3U);
    press_key(now, picture, "page up");
    EXPECT_EQ(now.first_row, 1U);
    press_key(now, picture, "page up");
    EXPECT_EQ(now.first_row, 0U);
}

TEST(TopView, FiltersByLockAndOwner) {
    TopState now = state();
    const TopPicture picture = draw_top(example_board(), now);
    for (const char* const key : {"/", "w", "3", "x", "backspace"}) press_key(now, picture, key);
    EXPECT_EQ(now.filter, "w3");
    EXPECT_EQ(draw_top(example_board(), now).lines.at(1), "/w3_");
    press_key(now, picture, "enter");
    EXPECT_FALSE(now.is_typing_filter);
    EXPECT_EQ(draw_top(example_board(), now).row_count, 4U);
    EXPECT_THAT(draw_top(example_board(), now).lines, Not(testing::Contains(HasSubstr("deploy"))));
    press_key(now, picture, "escape");
    EXPECT_EQ(draw_top(example_board(), now).row_count, 5U);
}

TEST(TopView, LettersOfAFilterAreNoOrders) {
    TopState now = state();
    const TopPicture picture = draw_top(example_board(), now);
    press_key(now, picture, "/");
    EXPECT_EQ(press_key(now, picture, "q"), TopStep::go_on);
    press_key(now, picture, "escape");
    EXPECT_EQ(press_key(now, picture, "q"), TopStep::quit);
}

TEST(TopView, SortsByWhatMattersNow) {
    TopState now = state();
    const TopPicture picture = draw_top(example_board(), now);
    press_key(now, picture, "s");
    EXPECT_EQ(now.sort, TopSort::by_time_left);
    EXPECT_THAT(draw_top(example_board(), now).lines.at(3), HasSubstr("deploy"));
    press_key(now, picture, "s");
    EXPECT_THAT(draw_top(example_board(), now).lines.at(3), HasSubstr("nightly"));
}

TEST(TopView, NamesCannotSpeakToTheTerminal) {
    LockBoard board;
    board.replace({lock("\x1b[2J", "\x1b]0;x\x07", 20'000)});
    TopState now = state();
    now.trouble = "\x1b[31m";
    for (const std::string& line : draw_top(board, now).lines) {
        EXPECT_THAT(line, Not(HasSubstr("\x1b")));
    }
}

TEST(TopView, SaysWhenThereIsNothing) {
    EXPECT_EQ(draw_top({}, state()).lines.at(3), "nothing is held");
    TopState filtered = state();
    filtered.filter = "zzz";
    EXPECT_EQ(draw_top(example_board(), filtered).lines.at(3), "nothing matches");
}

}  // namespace
}  // namespace holdfast::cli
