#include "sdk/http/server_access.h"

#include <fstream>

namespace holdfast::sdk {

std::vector<std::string> split_by_commas(std::string_view text) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const auto comma = text.find(',');
        if (comma != 0) parts.emplace_back(text.substr(0, comma));
        text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    }
    return parts;
}

base::Result<std::string> read_token(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line)) return base::fail("cannot read a token from " + path);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    return line;
}

}  // namespace holdfast::sdk
