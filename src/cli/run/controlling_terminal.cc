#include "cli/run/controlling_terminal.h"

#include <fcntl.h>
#include <unistd.h>

namespace holdfast::cli {

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
