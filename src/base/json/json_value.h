#pragma once

// JsonValue: a JSON text as a tree, for reading answers.
//
// Requests are read strictly (json_object.h, or parse_request()); answers with goodwill. A field that is missing, or of
// another kind than expected, is an empty value, so that
//
//     answer["holders"].items()[0]["owner_id"].text()
//
// needs a check only where something depends on it.
//
// A value: copies are whole trees. Thread safety: as of std::string.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace holdfast::base {

class JsonValue {
  public:
    using Items = std::vector<JsonValue>;
    using Fields = std::vector<std::pair<std::string, JsonValue>>;

    JsonValue() = default;  // null

    // Reads one JSON document of any kind. The error names the fault.
    [[nodiscard]] static Result<JsonValue> parse(std::string_view text);
    // The same for a request that is kept as it came: fails also if an object in it, however deep, has
    // a field twice (repeated_field.h).
    [[nodiscard]] static Result<JsonValue> parse_request(std::string_view text);

    [[nodiscard]] bool is_null() const;
    [[nodiscard]] bool is_object() const;
    [[nodiscard]] bool is_array() const;

    // The field of an object (the last of that name), or the item of an array; null if there is
    // none.
    [[nodiscard]] const JsonValue& operator[](std::string_view field) const;
    [[nodiscard]] const JsonValue& operator[](std::size_t index) const;

    // Empty if it is no array, no object, no string.
    [[nodiscard]] const Items& items() const&;
    [[nodiscard]] const Fields& fields() const&;  // in the order of the text
    const Items& items() && = delete;             // a loop over these would outlive them
    const Fields& fields() && = delete;
    [[nodiscard]] std::string_view text() const;

    [[nodiscard]] bool is_true() const;
    // A whole number that fits, or nothing: 3.0 is none.
    [[nodiscard]] std::optional<std::int64_t> number() const;
    [[nodiscard]] std::optional<std::uint64_t> natural() const;
    // Any number.
    [[nodiscard]] std::optional<double> real() const;

    // The text of it: on one line, fields in order.
    [[nodiscard]] std::string to_json() const;

  private:
    friend struct JsonValueReader;

    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Items,
                 Fields>
        value_;
};

}  // namespace holdfast::base
