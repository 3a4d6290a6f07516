#pragma once

// The commands a README shows.

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::e2e {

// The fenced code blocks of a Markdown text, each as its lines, without shell comments and empty
// lines.
[[nodiscard]] std::vector<std::vector<std::string>> code_blocks(const std::string& markdown);

// The lines of code blocks that begin with `curl ` and speak to 127.0.0.1:8080, those that end in a
// backslash joined with what follows, made to speak to `port` instead.
[[nodiscard]] std::vector<std::string> curl_commands(const std::string& markdown,
                                                     std::uint16_t port);

}  // namespace holdfast::e2e
