#include "app/http/process_figures.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <vector>

namespace holdfast::app {
namespace {

TEST(ProcessFigures, CountDescriptors) {
    const ProcessFigures before = read_process_figures();
    std::vector<int> opened;
    for (int count = 0; count < 5; ++count) opened.push_back(open("/dev/null", O_RDONLY));
    EXPECT_EQ(read_process_figures().open_descriptors, before.open_descriptors + 5);
    for (const int descriptor : opened) close(descriptor);
    EXPECT_EQ(read_process_figures().open_descriptors, before.open_descriptors);
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    EXPECT_EQ(before.descriptors_max, limit.rlim_cur);
}

TEST(ProcessFigures, MeasureMemoryAndWork) {
    const ProcessFigures before = read_process_figures();
    constexpr std::size_t bytes = std::size_t{64} << 20U;
    const std::vector<char> memory(bytes, 'x');  // writes every page
    const ProcessFigures now = read_process_figures();
    EXPECT_GE(now.virtual_bytes, now.resident_bytes);
    EXPECT_GE(now.resident_bytes, before.resident_bytes + bytes / 2) << memory.front();
    EXPECT_GT(now.cpu_seconds, before.cpu_seconds);
}

TEST(ProcessFigures, KnowWhenTheProcessBegan) {
    const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
    const double start = read_process_figures().start_seconds;
    EXPECT_LE(start, now.count() + 1);
    EXPECT_GE(start, now.count() - 24 * 3600) << "no run of this test takes a day";
    EXPECT_EQ(read_process_figures().start_seconds, start);
}

}  // namespace
}  // namespace holdfast::app
