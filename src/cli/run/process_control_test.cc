#include "cli/run/process_control.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::cli {
namespace {

using ::testing::Contains;
using ::testing::Not;

TEST(ProcessTree, ReadsTheParentWhateverTheNameIs) {
    EXPECT_EQ(parse_parent("17 (sh) S 4 17 4 0 -1"), 4);
    EXPECT_EQ(parse_parent("17 (a) S 9 (b)) R 4 17 4"), 4);
    EXPECT_EQ(parse_parent("17 (two\nlines) S 4 17"), 4);
}

TEST(ProcessTree, ReadsNothingFromWhatIsCutOff) {
    const std::string_view text = "17 (sh) S 4";
    for (std::size_t length = 0; length + 1 < text.size(); ++length) {
        EXPECT_EQ(parse_parent(text.substr(0, length)), std::nullopt) << length;
    }
}

TEST(ProcessTree, FindsAChildAndNotItself) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    const auto found = find_descendants(::getpid());
    EXPECT_THAT(found, Contains(child));
    EXPECT_THAT(found, Not(Contains(::getpid())));
    signal_descendants(0, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
}

}  // namespace
}  // namespace holdfast::cli
