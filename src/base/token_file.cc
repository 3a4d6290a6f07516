#include "base/token_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/descriptor.h"

namespace holdfast::base {

namespace {

constexpr std::size_t token_bytes_max = 4096;

// Up to `size` bytes of the file, or the system's reason why not.
Result<std::string> read_beginning(const std::string& path, std::size_t size) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return fail(std::strerror(errno));
    std::string text(size, '\0');
    std::size_t filled = 0;
    while (filled < size) {
        const ssize_t count = ::read(file.get(), &text[filled], size - filled);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return fail(std::strerror(errno));
        if (count == 0) break;
        filled += static_cast<std::size_t>(count);
    }
    text.resize(filled);
    return text;
}

// The text without the blanks and line ends around it.
std::string_view trim(std::string_view text) {
    constexpr std::string_view blanks = " \t\n\v\f\r";
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

}  // namespace

Result<std::string> read_token_file(const std::string& path) {
    const auto text = read_beginning(path, token_bytes_max + 2);
    if (!text) return fail("cannot read a token from " + path + ": " + text.error().message);
    std::string_view line = trim(*text);
    line = trim(line.substr(0, line.find('\n')));
    if (line.empty()) {
        return fail("there is no token in " + path + ": the file is empty");
    }
    if (line.size() > token_bytes_max) {
        return fail("the first line of " + path + " is too long for a token");
    }
    return std::string(line);
}

Result<std::string> read_small_file(const std::string& path, std::size_t bytes_max) {
    auto text = read_beginning(path, bytes_max + 1);
    if (text && text->size() > bytes_max) {
        return fail("it has more than " + std::to_string(bytes_max) + " bytes");
    }
    return text;
}

}  // namespace holdfast::base
