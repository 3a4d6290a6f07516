#pragma once

// Reading JSON objects whose fields are texts, whole numbers, objects and lists of these: the bodies
// of requests.
//
//     std::string owner;
//     std::optional<std::int64_t> ttl_ms;
//     read_json_object(body, {{"owner_id", &owner}, {"ttl_ms", &ttl_ms}})

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace holdfast::base {

// A value that may be written in two ways. At most one of these is set.
struct JsonTextOrObject {
    std::optional<std::string> text;
    std::optional<std::string> object;  // as it stands there: for another read_json_object()
};

// As many of them as a list has.
using JsonItems = std::vector<JsonTextOrObject>;

using TextLists = std::vector<std::vector<std::string>>;

// A field that may be there, and where its value goes. A field that is missing or null leaves its
// target as it was.
struct JsonField {
    std::string_view name;
    std::variant<std::string*, std::optional<std::int64_t>*, std::optional<std::uint64_t>*,
                 JsonTextOrObject*, JsonItems*, TextLists*>
        target;
};

// Reads `text`, which must be one object and nothing else. Fails with a sentence that names the
// fault: no JSON, no object, a field that is not among `fields`, a field that comes twice, a value of
// another kind. The targets may have been written to when it fails. REQUIRES: 64 fields at most.
[[nodiscard]] Result<void> read_json_object(std::string_view text,
                                            std::initializer_list<JsonField> fields);

// Whether the whole of `text` is one JSON object or array. (A lone number or word is valid JSON,
// too, but nobody would call it that.)
[[nodiscard]] bool is_json_document(std::string_view text);

}  // namespace holdfast::base
