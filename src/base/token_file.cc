#include "base/token_file.h"

#include <fstream>
#include <string_view>

namespace holdfast::base {

Result<std::string> read_token_file(const std::string& path) {
    constexpr std::string_view blanks = " \t\v\f\r";
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        const std::size_t begin = line.find_first_not_of(blanks);
        if (begin == std::string::npos) continue;
        return line.substr(begin, line.find_last_not_of(blanks) + 1 - begin);
    }
    return fail("cannot read a token from " + path);
}

}  // namespace holdfast::base
