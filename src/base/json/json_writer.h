#pragma once

// JsonWriter: writes JSON objects field by field, straight into a text.
//
//     JsonWriter(body).begin_object().field("held", true).field("owner", name).end_object();
//
// Names are written as they are: they are words of the program, which need no escapes.

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>

#include "base/json/json.h"
#include "base/text/append_all.h"

namespace holdfast::base {

class JsonWriter {
  public:
    // Appends to `out`, which outlives the writer.
    explicit JsonWriter(std::string& out) : out_(out) {}

    // At the top or in an array.
    JsonWriter& begin_object() {
        separate();
        return open('{');
    }
    // In an object.
    JsonWriter& begin_object(std::string_view name) { return key(name).open('{'); }
    JsonWriter& begin_array(std::string_view name) { return key(name).open('['); }
    JsonWriter& end_object() { return close('}'); }
    JsonWriter& end_array() { return close(']'); }
    // In an array.
    JsonWriter& element(std::string_view value) {
        separate();
        append_json_string(out_, value);
        return *this;
    }

    // NOLINTNEXTLINE(bugprone-easily-swappable-parameters): first the name, as in the text
    JsonWriter& field(std::string_view name, std::string_view value) {
        key(name);
        append_json_string(out_, value);
        return *this;
    }
    // A literal would rather be a bool.
    JsonWriter& field(std::string_view name, const char* value) {
        return field(name, std::string_view(value));
    }
    JsonWriter& field(std::string_view name, std::same_as<bool> auto value) {
        key(name).out_ += value ? "true" : "false";
        return *this;
    }
    template <std::integral Integer>
    requires(!std::same_as<Integer, bool>) JsonWriter& field(std::string_view name, Integer value) {
        key(name);
        const fmt::format_int digits(value);
        out_.append(digits.data(), digits.size());
        return *this;
    }

  private:
    JsonWriter& key(std::string_view name) {
        const std::string_view separator = is_first_ ? "" : ",";
        is_first_ = false;
        append_all(out_, separator, "\"", name, "\":");
        return *this;
    }
    JsonWriter& open(char bracket) {
        out_ += bracket;
        is_first_ = true;
        return *this;
    }
    JsonWriter& close(char bracket) {
        out_ += bracket;
        is_first_ = false;
        return *this;
    }
    void separate() {
        if (!is_first_) out_ += ',';
        is_first_ = false;
    }

    std::string& out_;
    bool is_first_ = true;  // nothing stands before in the object or array at hand
};

}  // namespace holdfast::base
