#include "cli/screen/terminal_text.h"

#include <fmt/format.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cwchar>

#include "base/text/rfc3339.h"
#include "base/text/utf8.h"

namespace holdfast::cli {

namespace {

constexpr std::string_view ellipsis = "…";

// The cells that a terminal uses for a letter, as the C library knows them: 2 for East Asian writing
// and pictures, 0 for accents that sit on the letter before. wcwidth() answers for the locale of the
// thread, so a locale of our own is set around the call: what we print does not depend on the
// user's. A letter that the library does not know, or any letter if the locale is missing, counts as
// one cell.
std::size_t width_of(char32_t code) {
    if (code < 0x80) return 1;
    static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (utf8 == nullptr) return 1;
    const locale_t before = ::uselocale(utf8);
    const int width = ::wcwidth(static_cast<wchar_t>(code));
    ::uselocale(before);
    return width < 0 ? 1 : static_cast<std::size_t>(width);
}

std::string escape_code(char32_t code) {
    if (code == '\n') return "\\n";
    if (code == '\r') return "\\r";
    if (code == '\t') return "\\t";
    const auto number = static_cast<std::uint32_t>(code);
    return code < 0x80 ? fmt::format("\\x{:02x}", number) : fmt::format("\\u{:04x}", number);
}

}  // namespace

std::string escape(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const base::Letter letter = base::first_letter(text);
        if (letter.bytes == 0) {
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
            text.remove_prefix(1);
            continue;
        }
        if (base::is_obeyed_by_terminals(letter.code)) {
            out += escape_code(letter.code);
        } else {
            out += text.substr(0, letter.bytes);
        }
        text.remove_prefix(letter.bytes);
    }
    return out;
}

std::size_t cell_width(std::string_view text) {
    std::size_t width = 0;
    while (!text.empty()) {
        const base::Letter letter = base::first_letter(text);
        width += width_of(letter.code);
        text.remove_prefix(std::max<std::size_t>(letter.bytes, 1));
    }
    return width;
}

std::string clipped(std::string_view text, std::size_t width_max) {
    if (cell_width(text) <= width_max) return std::string(text);
    if (width_max == 0) return {};
    std::size_t width = 0;
    std::size_t bytes = 0;
    while (bytes < text.size()) {
        const base::Letter letter = base::first_letter(text.substr(bytes));
        width += width_of(letter.code);
        if (width > width_max - 1) break;
        bytes += std::max<std::size_t>(letter.bytes, 1);
    }
    return std::string(text.substr(0, bytes)) + std::string(ellipsis);
}

std::string styled(std::string_view text, Style style, bool has_colour) {
    if (!has_colour || style == Style::plain || text.empty()) return std::string(text);
    static constexpr std::array<int, 8> codes{0, 1, 2, 31, 32, 33, 36, 7};
    return fmt::format("\x1b[{}m{}\x1b[0m", codes.at(static_cast<std::size_t>(style)), text);
}

bool wants_colour(int descriptor) {
    const auto variable = [](const char* name) {
        const char* const value = std::getenv(name);
        return std::string_view(value == nullptr ? "" : value);
    };
    return ::isatty(descriptor) == 1 && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

std::size_t terminal_width(int descriptor) {
    winsize size{};
    return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string countdown(std::chrono::milliseconds left) {
    const std::int64_t ms = std::max<std::int64_t>(left.count(), 0);
    const std::int64_t seconds = ms / 1000;
    if (seconds < 60) return fmt::format("{}.{}s", seconds, ms % 1000 / 100);
    if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
    if (seconds < 86400) return fmt::format("{}h{:02}m", seconds / 3600, seconds % 3600 / 60);
    const std::int64_t days = seconds / 86400;
    if (days < 100) return fmt::format("{}d{:02}h", days, seconds % 86400 / 3600);
    return fmt::format("{}d", std::min<std::int64_t>(days, 99999));
}

std::string moment(std::int64_t unix_ms) {
    constexpr std::int64_t end_of_9999 = 253'402'300'800'000;
    if (unix_ms < 0 || unix_ms >= end_of_9999) return {};
    std::string text;
    base::append_rfc3339(
        text, std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds{unix_ms}));
    return text;
}

}  // namespace holdfast::cli
