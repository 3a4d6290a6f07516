#include "doors/redis/script/value.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace holdfast::doors::redis {

namespace {

// Above this, whole numbers are not exact any more.
constexpr double exact_max = 9007199254740992;

ScriptValue with_field(const char* name, std::string text) {
    auto table = std::make_shared<ScriptTable>();
    table->fields.emplace(name, std::move(text));
    return table;
}

// The text of a named item of a table, if it has one.
const std::string* find_text(const ScriptTable& table, std::string_view name) {
    const auto found = table.fields.find(name);
    return found == table.fields.end() ? nullptr : std::get_if<std::string>(&found->second);
}

Reply table_reply(const ScriptTable& table) {
    if (const std::string* const text = find_text(table, "err")) return Reply::error(*text);
    if (const std::string* const text = find_text(table, "ok")) return Reply::status(*text);
    std::vector<Reply> items;
    for (const ScriptValue& item : table.items) {
        if (std::holds_alternative<Nil>(item)) break;
        items.push_back(to_reply(item));
    }
    return Reply::array(std::move(items));
}

}  // namespace

bool is_true(const ScriptValue& value) {
    if (const bool* const truth = std::get_if<bool>(&value)) return *truth;
    return !std::holds_alternative<Nil>(value);
}

bool are_equal(const ScriptValue& one, const ScriptValue& other) {
    return one == other;
}

std::optional<double> to_number(const ScriptValue& value) {
    if (const double* const number = std::get_if<double>(&value)) return *number;
    const std::string* const text = std::get_if<std::string>(&value);
    if (text == nullptr || text->empty()) return std::nullopt;
    char* end = nullptr;
    const double number = std::strtod(text->c_str(), &end);
    while (*end == ' ') ++end;
    if (end != text->c_str() + text->size()) return std::nullopt;
    return number;
}

std::optional<std::string> to_word(const ScriptValue& value) {
    if (const std::string* const text = std::get_if<std::string>(&value)) return *text;
    const double* const number = std::get_if<double>(&value);
    if (number == nullptr) return std::nullopt;
    const bool is_whole = std::trunc(*number) == *number && std::abs(*number) <= exact_max;
    if (is_whole) return std::to_string(static_cast<std::int64_t>(*number));
    return fmt::format("{:.17g}", *number);
}

std::string_view type_name(const ScriptValue& value) {
    constexpr std::string_view names[] = {"nil", "boolean", "number", "string", "table"};
    return names[value.index()];
}

ScriptValue status_value(std::string text) {
    return with_field("ok", std::move(text));
}

ScriptValue error_value(std::string text) {
    return with_field("err", std::move(text));
}

ScriptValue to_value(const Reply& reply) {
    switch (reply.kind) {
        case Reply::Kind::status: return status_value(reply.text);
        case Reply::Kind::error: return error_value(reply.text);
        case Reply::Kind::integer: return static_cast<double>(reply.number);
        case Reply::Kind::bulk: return reply.text;
        case Reply::Kind::null:
        case Reply::Kind::null_array: return false;
        case Reply::Kind::array:
        case Reply::Kind::map: break;
    }
    auto table = std::make_shared<ScriptTable>();
    for (const Reply& item : reply.items) table->items.push_back(to_value(item));
    return table;
}

Reply to_reply(const ScriptValue& value) {
    if (const bool* const truth = std::get_if<bool>(&value)) {
        return *truth ? Reply::integer(1) : Reply::null();
    }
    if (const double* const number = std::get_if<double>(&value)) {
        constexpr double largest = 9.2e18;
        if (!(std::abs(*number) < largest)) return Reply::integer(INT64_MIN);
        return Reply::integer(static_cast<std::int64_t>(*number));
    }
    if (const std::string* const text = std::get_if<std::string>(&value)) {
        return Reply::bulk(*text);
    }
    if (const auto* const table = std::get_if<std::shared_ptr<ScriptTable>>(&value)) {
        return table_reply(**table);
    }
    return Reply::null();
}

}  // namespace holdfast::doors::redis
