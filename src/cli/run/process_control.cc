#include "cli/run/process_control.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/text/number.h"

namespace holdfast::cli {

namespace {

// The beginning of the file, which contains the name and the parent.
std::string read_stat(pid_t pid) {
    const std::string path = "/proc/" + std::to_string(pid) + "/stat";
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return {};
    std::array<char, 512> bytes;
    const ssize_t count = ::read(descriptor, bytes.data(), bytes.size());
    ::close(descriptor);
    return count > 0 ? std::string(bytes.data(), static_cast<std::size_t>(count)) : std::string();
}

std::vector<pid_t> list_processes() {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
    std::vector<pid_t> pids;
    if (!folder) return pids;
    while (const dirent* const entry = ::readdir(folder.get())) {
        const auto pid = base::parse_decimal<std::uint32_t>(entry->d_name);
        if (pid) pids.push_back(static_cast<pid_t>(*pid));
    }
    return pids;
}

}  // namespace

std::optional<pid_t> parse_parent(std::string_view stat) {
    const auto name_end = stat.rfind(')');  // then: ") S 1234 ..."
    if (name_end == std::string_view::npos || stat.size() < name_end + 5) return std::nullopt;
    const std::string_view rest = stat.substr(name_end + 4);
    const auto parent = base::parse_decimal<std::uint32_t>(rest.substr(0, rest.find(' ')));
    if (!parent) return std::nullopt;
    return static_cast<pid_t>(*parent);
}

std::vector<pid_t> find_descendants(pid_t root) {
    std::unordered_multimap<pid_t, pid_t> children;
    for (const pid_t pid : list_processes()) {
        if (const auto parent = parse_parent(read_stat(pid))) children.emplace(*parent, pid);
    }
    std::vector<pid_t> found;
    const auto add_children = [&](pid_t parent) {
        const auto [first, last] = children.equal_range(parent);
        for (auto child = first; child != last; ++child) found.push_back(child->second);
    };
    add_children(root);
    for (std::size_t index = 0; index < found.size(); ++index) add_children(found[index]);
    return found;
}

void signal_descendants(pid_t group, int signal) {
    if (group > 0) ::kill(-group, signal);
    for (const pid_t pid : find_descendants(::getpid())) {
        if (group <= 0 || ::getpgid(pid) != group) ::kill(pid, signal);
    }
}

void adopt_orphans() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

ControllingTerminal::ControllingTerminal()
    : descriptor_(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {
    if (descriptor_ >= 0) has_modes_ = ::tcgetattr(descriptor_, &modes_) == 0;
}

ControllingTerminal::~ControllingTerminal() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

bool ControllingTerminal::is_foreground(pid_t group) const {
    return descriptor_ >= 0 && ::tcgetpgrp(descriptor_) == group;
}

void ControllingTerminal::put_in_foreground(pid_t group) const {
    if (descriptor_ >= 0) ::tcsetpgrp(descriptor_, group);
}

void ControllingTerminal::restore_modes() const {
    if (has_modes_) ::tcsetattr(descriptor_, TCSANOW, &modes_);
}

}  // namespace holdfast::cli
