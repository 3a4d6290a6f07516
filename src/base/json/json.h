#pragma once

// Writing JSON: the one part of it that is easy to get wrong.

#include <string>
#include <string_view>

namespace holdfast::base {

// JsonText: a text as it stands between the quotes of a JSON string. Nearly always this is the text
// itself, and then nothing is copied. The text outlives it.
//
//     append_all(body, R"({"owner":")", JsonText(owner).view(), R"("})");
//
// The result is valid JSON in valid UTF-8 whatever the text holds: every byte that is no part
// of a well-formed UTF-8 sequence becomes one U+FFFD. Nothing else is lost, NUL and DEL included.
class JsonText {
  public:
    explicit JsonText(std::string_view text);
    JsonText(const JsonText&) = delete;
    JsonText& operator=(const JsonText&) = delete;

    [[nodiscard]] std::string_view view() const { return view_; }

  private:
    std::string escaped_;  // if it differs from the text
    std::string_view view_;
};

// Appends `text` to `out` as a JSON string, quotes included.
// REQUIRES: `text` is no view into `out`.
void append_json_string(std::string& out, std::string_view text);

}  // namespace holdfast::base
