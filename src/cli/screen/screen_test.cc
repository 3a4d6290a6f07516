#include "cli/screen/screen.h"

#include <gmock/gmock.h>

namespace holdfast::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Screen, KnowsTheKeysThatHaveNames) {
    EXPECT_THAT(read_keys("q/\x1b[A\x1bOB\x1b[5~\x1b[6~\r\x7f"),
                ElementsAre("q", "/", "up", "down", "page up", "page down", "enter", "backspace"));
}

TEST(Screen, ALoneEscapeIsOne) {
    EXPECT_THAT(read_keys("\x1b"), ElementsAre("escape"));
    EXPECT_THAT(read_keys("\x1bq"), ElementsAre("escape", "q"));
}

TEST(Screen, UnknownSequencesAreNoLetters) {
    EXPECT_THAT(read_keys("\x1b[15~\x1b[1;5Cq"), ElementsAre("q"));
    EXPECT_THAT(read_keys("\x1b[1;"), IsEmpty());
    EXPECT_THAT(read_keys("\x01\x02"), IsEmpty());
    EXPECT_THAT(read_keys(""), IsEmpty());
}

TEST(Screen, NeedsATerminal) {
    EXPECT_FALSE(Screen::open());
}

}  // namespace
}  // namespace holdfast::cli
