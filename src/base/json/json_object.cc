#include "base/json/json_object.h"

#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/check.h"
#include "base/json/repeated_field.h"

namespace holdfast::base {

namespace {

namespace ondemand = simdjson::ondemand;

tl::unexpected<Error> no_json(simdjson::error_code error) {
    if (error == simdjson::EMPTY) return fail("the body is empty; a JSON object is expected");
    if (error == simdjson::INCOMPLETE_ARRAY_OR_OBJECT) {  // all that simdjson looks at is the end
        return fail("the body is not valid JSON: its object has no end, or something follows it");
    }
    return fail(std::string("the body is not valid JSON: ") + simdjson::error_message(error));
}

tl::unexpected<Error> wrong_kind(std::string_view name, const char* kind) {
    return fail(std::string(name) + " must be " + kind);
}

Result<void> read_text(ondemand::value& value, std::string_view name, std::string& text) {
    std::string_view seen;
    const auto error = value.get_string().get(seen);
    if (error == simdjson::INCORRECT_TYPE) return wrong_kind(name, "a string");
    if (error) return no_json(error);
    text.assign(seen);
    return {};
}

Result<void> read_text_or_object(ondemand::value& value, std::string_view name,
                                 JsonTextOrObject& target) {
    target = {};
    ondemand::json_type type{};
    if (const auto error = value.type().get(type)) return no_json(error);
    if (type == ondemand::json_type::string) {
        return read_text(value, name, target.text.emplace());
    }
    if (type != ondemand::json_type::object) return wrong_kind(name, "a string or an object");
    ondemand::object object;
    if (const auto error = value.get_object().get(object)) return no_json(error);
    std::string_view seen;
    if (const auto error = object.raw_json().get(seen)) return no_json(error);
    target.object.emplace(seen);
    return {};
}

// Takes the items as texts or as the JSON of objects.
Result<void> take_items(ondemand::value& value, std::string_view name, JsonItems& items) {
    constexpr const char* kind = "a list of strings and objects";
    items.clear();
    ondemand::array list;
    if (value.get_array().get(list)) return wrong_kind(name, kind);
    for (auto item : list) {
        ondemand::value one;
        // NOLINTNEXTLINE(performance-move-const-arg): get() is for results that are given away
        if (const auto error = std::move(item).get(one)) return no_json(error);
        ondemand::json_type type{};
        if (const auto error = one.type().get(type)) return no_json(error);
        const bool is_known =
            type == ondemand::json_type::string || type == ondemand::json_type::object;
        if (!is_known) return wrong_kind(name, kind);
        if (auto read = read_text_or_object(one, name, items.emplace_back()); !read) return read;
    }
    return {};
}

Result<void> take_lists(ondemand::value& value, std::string_view name, TextLists& lists) {
    constexpr const char* kind = "a list of lists of strings";
    lists.clear();
    ondemand::array outer;
    if (value.get_array().get(outer)) return wrong_kind(name, kind);
    for (auto item : outer) {
        ondemand::array inner;
        if (item.get_array().get(inner)) return wrong_kind(name, kind);
        auto& list = lists.emplace_back();
        for (auto text : inner) {
            std::string_view seen;
            if (text.get_string().get(seen)) return wrong_kind(name, kind);
            list.emplace_back(seen);
        }
    }
    return {};
}

Result<void> take(ondemand::value& value, const JsonField& field) {
    bool is_null = false;
    if (const auto error = value.is_null().get(is_null)) return no_json(error);
    if (is_null) return {};
    if (auto* const* text = std::get_if<std::string*>(&field.target)) {
        return read_text(value, field.name, **text);
    }
    if (auto* const* either = std::get_if<JsonTextOrObject*>(&field.target)) {
        return read_text_or_object(value, field.name, **either);
    }
    if (auto* const* natural = std::get_if<std::optional<std::uint64_t>*>(&field.target)) {
        std::uint64_t number = 0;
        if (value.get_uint64().get(number)) {
            return wrong_kind(field.name, "a whole number that is not negative");
        }
        **natural = number;
        return {};
    }
    if (auto* const* items = std::get_if<JsonItems*>(&field.target)) {
        return take_items(value, field.name, **items);
    }
    if (auto* const* lists = std::get_if<TextLists*>(&field.target)) {
        return take_lists(value, field.name, **lists);
    }
    std::int64_t number = 0;
    if (value.get_int64().get(number)) return wrong_kind(field.name, "a whole number");
    *std::get<std::optional<std::int64_t>*>(field.target) = number;
    return {};
}

Result<void> take_all(ondemand::object& object, std::initializer_list<JsonField> fields) {
    CHECK(fields.size() <= 64);
    std::uint64_t seen = 0;  // a bit for each of the fields
    for (auto item : object) {
        ondemand::field parsed;
        if (const auto error = std::move(item).get(parsed)) return no_json(error);
        std::string_view name;
        if (const auto error = parsed.unescaped_key().get(name)) return no_json(error);
        const auto* const field = std::find_if(
            fields.begin(), fields.end(), [&](const JsonField& one) { return one.name == name; });
        if (field == fields.end()) {
            return fail("unknown field \"" + std::string(name.substr(0, 64)) + "\"");
        }
        const std::uint64_t bit = std::uint64_t{1} << (field - fields.begin());
        if ((seen & bit) != 0) return fail_repeated(name);
        seen |= bit;
        if (auto taken = take(parsed.value(), *field); !taken) return taken;
    }
    return {};
}

}  // namespace

Result<void> read_json_object(std::string_view text, std::initializer_list<JsonField> fields) {
    // Both grow to the size of what they read, and are kept; simdjson reads a little past the end.
    thread_local ondemand::parser parser;
    thread_local std::string padded;
    padded.assign(text);
    padded.append(simdjson::SIMDJSON_PADDING, '\0');
    ondemand::document document;
    if (const auto error =
            parser.iterate(padded.data(), text.size(), padded.size()).get(document)) {
        return no_json(error);
    }
    ondemand::object object;
    if (const auto error = document.get_object().get(object)) {
        if (error == simdjson::INCORRECT_TYPE) return fail("the body must be a JSON object");
        return no_json(error);
    }
    if (auto taken = take_all(object, fields); !taken) return taken;
    if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
        return fail("the body is not valid JSON: something follows the object");
    }
    return {};
}

bool is_json_document(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || (text[first] != '{' && text[first] != '[')) return false;
    simdjson::dom::parser parser;  // unlike the other one, it looks at everything
    return parser.parse(text.data(), text.size()).error() == simdjson::SUCCESS;
}

}  // namespace holdfast::base
