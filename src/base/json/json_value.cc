#include "base/json/json_value.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>

#include "base/json/json.h"
#include "base/json/repeated_field.h"

namespace holdfast::base {

namespace dom = simdjson::dom;

namespace {

const JsonValue& null_value() {
    static const JsonValue null;
    return null;
}

// A field that the object has twice; null if there is none.
const std::string* find_repeated(const JsonValue::Fields& fields) {
    std::vector<const std::string*> names;
    names.reserve(fields.size());
    for (const auto& [name, value] : fields) names.push_back(&name);
    std::sort(names.begin(), names.end(), [](const auto* a, const auto* b) { return *a < *b; });
    const auto repeated = std::adjacent_find(names.begin(), names.end(),
                                             [](const auto* a, const auto* b) { return *a == *b; });
    return repeated == names.end() ? nullptr : *repeated;
}

// The same for every object in the value, which is as deep as simdjson lets it be.
const std::string* find_repeated_below(const JsonValue& value) {
    if (const auto* const repeated = find_repeated(value.fields())) return repeated;
    for (const auto& [name, inner] : value.fields()) {
        if (const auto* const repeated = find_repeated_below(inner)) return repeated;
    }
    for (const JsonValue& item : value.items()) {
        if (const auto* const repeated = find_repeated_below(item)) return repeated;
    }
    return nullptr;
}

}  // namespace

// Copies what simdjson has read. Its depth is limited by simdjson, to 1024.
struct JsonValueReader {
    static JsonValue read(const dom::element& element) {
        JsonValue value;
        switch (element.type()) {
            case dom::element_type::NULL_VALUE: break;
            case dom::element_type::BOOL: value.value_ = bool(element); break;
            case dom::element_type::INT64: value.value_ = std::int64_t(element); break;
            case dom::element_type::UINT64: value.value_ = std::uint64_t(element); break;
            case dom::element_type::DOUBLE: value.value_ = double(element); break;
            case dom::element_type::STRING:
                value.value_ = std::string(std::string_view(element));
                break;
            case dom::element_type::ARRAY: {
                JsonValue::Items items;
                for (const dom::element item : dom::array(element)) items.push_back(read(item));
                value.value_ = std::move(items);
                break;
            }
            case dom::element_type::OBJECT: {
                JsonValue::Fields fields;
                for (const dom::key_value_pair field : dom::object(element)) {
                    fields.emplace_back(field.key, read(field.value));
                }
                value.value_ = std::move(fields);
                break;
            }
        }
        return value;
    }
};

Result<JsonValue> JsonValue::parse(std::string_view text) {
    dom::parser parser;
    dom::element element;
    if (const auto error = parser.parse(text.data(), text.size()).get(element)) {
        return fail(std::string("not valid JSON: ") + simdjson::error_message(error));
    }
    return JsonValueReader::read(element);
}

Result<JsonValue> JsonValue::parse_request(std::string_view text) {
    TRY(auto value, parse(text));
    if (const auto* const repeated = find_repeated_below(value)) return fail_repeated(*repeated);
    return value;
}

bool JsonValue::is_null() const {
    return std::holds_alternative<std::monostate>(value_);
}

bool JsonValue::is_object() const {
    return std::holds_alternative<Fields>(value_);
}

bool JsonValue::is_array() const {
    return std::holds_alternative<Items>(value_);
}

const JsonValue& JsonValue::operator[](std::string_view field) const {
    const Fields& all = fields();
    const auto found =
        std::find_if(all.rbegin(), all.rend(), [&](const auto& one) { return one.first == field; });
    return found == all.rend() ? null_value() : found->second;
}

const JsonValue& JsonValue::operator[](std::size_t index) const {
    const Items& all = items();
    return index < all.size() ? all[index] : null_value();
}

const JsonValue::Items& JsonValue::items() const& {
    static const Items none;
    const auto* const items = std::get_if<Items>(&value_);
    return items ? *items : none;
}

const JsonValue::Fields& JsonValue::fields() const& {
    static const Fields none;
    const auto* const fields = std::get_if<Fields>(&value_);
    return fields ? *fields : none;
}

std::string_view JsonValue::text() const {
    const auto* const text = std::get_if<std::string>(&value_);
    return text ? std::string_view(*text) : std::string_view();
}

bool JsonValue::is_true() const {
    const auto* const truth = std::get_if<bool>(&value_);
    return truth && *truth;
}

// simdjson calls a number UINT64 only if it is too large for the other.

std::optional<std::int64_t> JsonValue::number() const {
    const auto* const number = std::get_if<std::int64_t>(&value_);
    return number ? std::optional(*number) : std::nullopt;
}

std::optional<std::uint64_t> JsonValue::natural() const {
    if (const auto* const large = std::get_if<std::uint64_t>(&value_)) return *large;
    const auto small = number();
    if (!small || *small < 0) return std::nullopt;
    return static_cast<std::uint64_t>(*small);
}

std::optional<double> JsonValue::real() const {
    if (const auto* const real = std::get_if<double>(&value_)) return *real;
    if (const auto whole = number()) return static_cast<double>(*whole);
    if (const auto large = natural()) return static_cast<double>(*large);
    return std::nullopt;
}

std::string JsonValue::to_json() const {
    if (is_null()) return "null";
    if (const auto* const truth = std::get_if<bool>(&value_)) return *truth ? "true" : "false";
    if (const auto whole = number()) return fmt::format("{}", *whole);
    if (const auto large = natural()) return fmt::format("{}", *large);
    if (const auto any = real()) return fmt::format("{}", *any);
    std::string out;
    if (is_array()) {
        for (const JsonValue& item : items()) out += (out.empty() ? "" : ",") + item.to_json();
        return "[" + out + "]";
    }
    if (is_object()) {
        for (const auto& [name, value] : fields()) {
            if (!out.empty()) out += ',';
            append_json_string(out, name);
            out += ":" + value.to_json();
        }
        return "{" + out + "}";
    }
    append_json_string(out, text());
    return out;
}

}  // namespace holdfast::base
