#include "cli/screen/screen.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace holdfast::cli {

namespace {

// The second page of the terminal, no cursor, lines are cut at the edge.
constexpr std::string_view enter_text = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view leave_text = "\x1b[?7h\x1b[?25h\x1b[?1049l";

// Global, because a signal handler can reach nothing else.
termios modes_before{};

void write_all(std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
        if (count <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(count));
    }
}

void restore() {
    write_all(leave_text);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &modes_before);
}

void restore_and_crash(int signal) {
    restore();
    ::raise(signal);  // its handler was taken away when this one was called
}

void restore_on_crash() {
    struct sigaction action {};
    action.sa_handler = restore_and_crash;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
        ::sigaction(signal, &action, nullptr);
    }
}

struct Key {
    std::string_view bytes;
    const char* name;
};

constexpr std::array<Key, 20> keys{
    {{"\x1b[A", "up"},      {"\x1bOA", "up"},    {"\x1b[B", "down"},       {"\x1bOB", "down"},
     {"\x1b[C", "right"},   {"\x1b[D", "left"},  {"\x1b[5~", "page up"},   {"\x1b[6~", "page down"},
     {"\x1b[H", "home"},    {"\x1bOH", "home"},  {"\x1b[1~", "home"},      {"\x1b[F", "end"},
     {"\x1bOF", "end"},     {"\x1b[4~", "end"},  {"\r", "enter"},          {"\n", "enter"},
     {"\x7f", "backspace"}, {"\b", "backspace"}, {"\x1b[3~", "backspace"}, {"\x1b[Z", "tab"}}};

// The length of an unknown sequence: up to and including its last letter.
std::size_t sequence_length(std::string_view bytes) {
    if (bytes.size() < 2 || bytes[1] != '[') return 1;
    std::size_t length = 2;
    while (length < bytes.size() && (bytes[length] < '@' || bytes[length] > '~')) ++length;
    return length < bytes.size() ? length + 1 : length;
}

}  // namespace

std::vector<std::string> read_keys(std::string_view bytes) {
    std::vector<std::string> found;
    while (!bytes.empty()) {
        const Key* known = nullptr;
        for (const Key& key : keys) {
            if (bytes.starts_with(key.bytes)) known = &key;
        }
        if (known != nullptr) {
            found.emplace_back(known->name);
            bytes.remove_prefix(known->bytes.size());
        } else if (bytes.front() == '\x1b') {
            const std::size_t length = sequence_length(bytes);
            if (length == 1) found.emplace_back("escape");
            bytes.remove_prefix(length);
        } else {
            if (static_cast<unsigned char>(bytes.front()) >= ' ') {
                found.emplace_back(1, bytes.front());
            }
            bytes.remove_prefix(1);
        }
    }
    return found;
}

base::Result<Screen> Screen::open() {
    if (::isatty(STDOUT_FILENO) != 1 || ::tcgetattr(STDIN_FILENO, &modes_before) != 0) {
        return base::fail("this needs a terminal to draw on: see `holdfast ls` and `watch`");
    }
    restore_on_crash();
    Screen screen;
    screen.enter();
    return screen;
}

Screen::Screen(Screen&& other) noexcept : is_open_(std::exchange(other.is_open_, false)) {}

Screen::~Screen() {
    if (is_open_) leave();
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): it needs an open screen
void Screen::enter() const {
    termios modes = modes_before;
    modes.c_lflag &= static_cast<tcflag_t>(~(ICANON | ECHO));  // keys as they come; Ctrl-C stays
    modes.c_cc[VMIN] = 0;
    modes.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &modes);
    write_all(enter_text);
}

void Screen::leave() const {
    restore();
}

Screen::Size Screen::size() const {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
        return {};
    }
    return {.width = size.ws_col, .height = size.ws_row};
}

void Screen::draw(const std::vector<std::string>& lines) const {
    std::string text = "\x1b[H";
    for (std::size_t index = 0; index < lines.size(); ++index) {
        if (index > 0) text += "\r\n";
        text += lines[index] + "\x1b[K";
    }
    write_all(text + "\x1b[J");
}

}  // namespace holdfast::cli
