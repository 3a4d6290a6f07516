#include "readme.h"

#include <sstream>
#include <utility>

namespace holdfast::e2e {

namespace {

// `make run   # builds` without its comment and the spaces at its end.
std::string without_comment(std::string line) {
    if (line.starts_with('#')) return "";
    line = line.substr(0, line.find(" #"));
    return line.substr(0, line.find_last_not_of(" \t\r") + 1);
}

}  // namespace

std::vector<std::vector<std::string>> code_blocks(const std::string& markdown) {
    std::vector<std::vector<std::string>> blocks;
    std::istringstream lines(markdown);
    bool is_inside = false;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("```")) {
            is_inside = !is_inside;
            if (is_inside) blocks.emplace_back();
        } else if (is_inside) {
            const std::string command = without_comment(line);
            if (!command.empty()) blocks.back().push_back(command);
        }
    }
    return blocks;
}

std::vector<std::string> curl_commands(const std::string& markdown, std::uint16_t port) {
    const std::string shown = "127.0.0.1:8080";
    const std::string served = "127.0.0.1:" + std::to_string(port);
    std::vector<std::string> commands;
    for (const auto& block : code_blocks(markdown)) {
        std::string whole;
        for (const std::string& line : block) {
            whole += line;
            if (whole.ends_with('\\')) {
                whole.pop_back();
                continue;
            }
            std::string command = std::exchange(whole, "");
            const auto at = command.find(shown);
            if (!command.starts_with("curl ") || at == std::string::npos) continue;
            commands.push_back(command.replace(at, shown.size(), served));
        }
    }
    return commands;
}

}  // namespace holdfast::e2e
