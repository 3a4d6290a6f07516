#pragma once

// Conditional requests: If-Match and its kin, held against the version that is there.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "files/disk/file_info.h"
#include "net/http/http_message.h"

namespace holdfast::doors::hengdang {

struct Conditions {
    std::optional<std::string> if_match, if_none_match;  // as sent
    // A date that is none is no condition.
    std::optional<std::chrono::sys_seconds> if_unmodified_since, if_modified_since;

    [[nodiscard]] bool is_empty() const {
        return !if_match && !if_none_match && !if_unmodified_since && !if_modified_since;
    }
};

[[nodiscard]] Conditions read_conditions(const net::HttpRequest& request);

// Why something must not be written over `current` (null: nothing is there), in a sentence; nothing
// if it may.
[[nodiscard]] std::optional<std::string_view> find_broken(const Conditions& conditions,
                                                          const files::FileInfo* current);

// What a reader is to be told instead of the content, if anything.
enum class ReadVerdict { send, not_modified, precondition_failed };
[[nodiscard]] ReadVerdict judge_read(const Conditions& conditions, const files::FileInfo& current);

// Whether a list such as `"a", W/"b"`, or `*`, names the tag. A strong comparison takes no weak
// ones.
enum class TagComparison { strong, weak };
[[nodiscard]] bool names_tag(std::string_view list, std::string_view tag, TagComparison comparison);

// When the version was made, as dates tell it.
[[nodiscard]] std::chrono::sys_seconds modified_at(const files::FileInfo& info);

}  // namespace holdfast::doors::hengdang
