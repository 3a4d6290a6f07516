#include "app/http/process_figures.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

namespace holdfast::app {

namespace {

double seconds_of(clockid_t clock) {
    timespec time{};
    if (clock_gettime(clock, &time) != 0) return 0;
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// The number of seconds after 1970 at which the process began. The kernel tells when that was after
// its own start, in ticks: the 22nd field of the file, counted from behind the name, which may have
// blanks.
double read_start() {
    std::ifstream file("/proc/self/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t end_of_name = text.rfind(')');
    if (end_of_name == std::string::npos) return 0;
    std::istringstream fields(text.substr(end_of_name + 1));
    constexpr int fields_between = 19;
    std::string skipped;
    for (int count = 0; count < fields_between; ++count) fields >> skipped;
    double ticks = 0;
    if (!(fields >> ticks)) return 0;
    const double age =
        seconds_of(CLOCK_BOOTTIME) - ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
    return seconds_of(CLOCK_REALTIME) - age;
}

// Newer kernels tell the number as the size of the folder. With others the names are counted, without
// that of the descriptor that reads them.
std::uint64_t count_descriptors() {
    constexpr const char* folder = "/proc/self/fd";
    struct stat status {};
    if (stat(folder, &status) == 0 && status.st_size > 0) {
        return static_cast<std::uint64_t>(status.st_size);
    }
    const std::unique_ptr<DIR, int (*)(DIR*)> names(opendir(folder), closedir);
    if (!names) return 0;
    std::uint64_t count = 0;
    while (const dirent* const entry = readdir(names.get())) {
        if (entry->d_name[0] != '.') ++count;
    }
    return count > 0 ? count - 1 : 0;
}

}  // namespace

ProcessFigures read_process_figures() {
    // Once: it must not change when the clock is set.
    static const double start_seconds = read_start();
    ProcessFigures figures{.cpu_seconds = seconds_of(CLOCK_PROCESS_CPUTIME_ID),
                           .open_descriptors = count_descriptors(),
                           .start_seconds = start_seconds};
    std::uint64_t pages = 0, resident_pages = 0;
    if (std::ifstream("/proc/self/statm") >> pages >> resident_pages) {
        const auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
        figures.virtual_bytes = pages * page_bytes;
        figures.resident_bytes = resident_pages * page_bytes;
    }
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) figures.descriptors_max = limit.rlim_cur;
    return figures;
}

}  // namespace holdfast::app
