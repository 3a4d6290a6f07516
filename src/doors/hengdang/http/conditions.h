#pragma once

// Conditional requests: `If-Match`, `If-None-Match`, `If-Unmodified-Since` and `If-Modified-Since`,
// compared with the version that is there; and the tags and dates of HTTP that they need.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "doors/hengdang/http/file_answer.h"
#include "files/disk/file_info.h"
#include "net/http/http_message.h"

namespace holdfast::doors::hengdang {

struct Conditions {
    std::optional<std::string> if_match, if_none_match;  // lists of tags, as sent
    std::optional<std::chrono::sys_seconds> if_unmodified_since, if_modified_since;

    [[nodiscard]] bool is_empty() const {
        return !if_match && !if_none_match && !if_unmodified_since && !if_modified_since;
    }
};

// Refuses a condition that cannot be read with 400, whatever HTTP says about dates: a write whose
// condition is ignored could overwrite what the condition was to protect.
[[nodiscard]] Parsed<Conditions> read_conditions(const net::HttpRequest& request);

// A sentence that says why `current` must not be replaced (null: there is no file); nothing if it
// may.
[[nodiscard]] std::optional<std::string_view> find_broken(const Conditions& conditions,
                                                          const files::FileInfo* current);

// Whether a reader gets the content, or an answer instead of it.
enum class ReadVerdict { send, not_modified, precondition_failed };
[[nodiscard]] ReadVerdict judge_read(const Conditions& conditions, const files::FileInfo& current);

// Whether the text is `*`, or a list of tags such as `"a", W/"b"`.
[[nodiscard]] bool is_tag_list(std::string_view text);

// Whether a list such as `"a", W/"b"`, or `*`, contains the tag. A strong comparison ignores the
// weak tags of the list.
enum class TagComparison { strong, weak };
[[nodiscard]] bool names_tag(std::string_view list, std::string_view tag, TagComparison comparison);

// When the version was made, in whole seconds, as HTTP dates have them.
[[nodiscard]] std::chrono::sys_seconds modified_at(const files::FileInfo& info);

// Dates in HTTP headers: `Sun, 06 Nov 1994 08:49:37 GMT`. Any other form is malformed: no client
// sends the two older forms that HTTP still allows.
[[nodiscard]] std::string to_http_date(std::chrono::sys_seconds time);
[[nodiscard]] std::optional<std::chrono::sys_seconds> parse_http_date(std::string_view text);

}  // namespace holdfast::doors::hengdang
