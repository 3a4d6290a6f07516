#include "doors/redis/script/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace holdfast::doors::redis {

namespace {

// Above this, whole numbers are not exact any more.
constexpr double exact_max = 9007199254740992;

// Reading a number from a longer text would take long.
constexpr std::size_t number_bytes_max = 200;

ScriptText share(std::string_view text) {
    return std::make_shared<const std::string>(text);
}

// The items of a list that are in a reply: those before the first nil.
template <class OnItem>
base::Result<void> for_items(const ScriptTable& table, OnItem on_item) {
    for (const ScriptValue& item : table.items) {
        if (std::holds_alternative<Nil>(item)) break;
        TRY(on_item(item));
    }
    return {};
}

// Takes what the reply to this value needs from the budget.
base::Result<void> charge_reply(const ScriptValue& value, StepBudget& budget) {
    TRY(budget.take_item());
    TRY(budget.take_bytes(sizeof(Reply)));
    if (const std::string* const text = find_text(value)) return budget.take_bytes(text->size());
    const ScriptTable* const table = find_table(value);
    if (table == nullptr) return {};
    if (table->kind != ScriptTable::Kind::list) return budget.take_bytes(table->text->size());
    return for_items(*table, [&](const ScriptValue& item) { return charge_reply(item, budget); });
}

Reply build_reply(const ScriptValue& value) {
    if (const bool* const truth = std::get_if<bool>(&value)) {
        return *truth ? Reply::integer(1) : Reply::null();
    }
    if (const double* const number = std::get_if<double>(&value)) {
        constexpr double largest = 9.2e18;
        if (!(std::abs(*number) < largest)) return Reply::integer(INT64_MIN);
        return Reply::integer(static_cast<std::int64_t>(*number));
    }
    if (const std::string* const text = find_text(value)) return Reply::bulk(*text);
    const ScriptTable* const table = find_table(value);
    if (table == nullptr) return Reply::null();
    if (table->kind == ScriptTable::Kind::error) return Reply::error(*table->text);
    if (table->kind == ScriptTable::Kind::status) return Reply::status(*table->text);
    Reply list = Reply::array({});
    for (const ScriptValue& item : table->items) {
        if (std::holds_alternative<Nil>(item)) break;
        list.items.push_back(build_reply(item));
    }
    return list;
}

ScriptValue build_table(ScriptTable::Kind kind, std::string_view text) {
    auto table = std::make_shared<ScriptTable>();
    table->kind = kind;
    table->text = share(text);
    return table;
}

// What the value that a reply becomes takes from the budget.
std::size_t value_cost_of(const Reply& reply) {
    std::size_t cost = sizeof(ScriptValue) + table_cost + text_cost + reply.text.size();
    for (const Reply& item : reply.items) cost += value_cost_of(item);
    return cost;
}

ScriptValue build_value(const Reply& reply) {
    switch (reply.kind) {
        case Reply::Kind::status: return build_table(ScriptTable::Kind::status, reply.text);
        case Reply::Kind::error: return build_table(ScriptTable::Kind::error, reply.text);
        case Reply::Kind::integer: return static_cast<double>(reply.number);
        case Reply::Kind::bulk: return share(reply.text);
        case Reply::Kind::null:
        case Reply::Kind::null_array: return false;
        case Reply::Kind::array:
        case Reply::Kind::map: break;
    }
    auto table = std::make_shared<ScriptTable>();
    for (const Reply& item : reply.items) {
        table->items.push_back(build_value(item));
        const ScriptTable* const inner = find_table(table->items.back());
        if (inner != nullptr) table->height = std::max(table->height, inner->height + 1);
    }
    return table;
}

}  // namespace

bool is_true(const ScriptValue& value) {
    if (const bool* const truth = std::get_if<bool>(&value)) return *truth;
    return !std::holds_alternative<Nil>(value);
}

bool are_equal(const ScriptValue& one, const ScriptValue& other) {
    const std::string* const text = find_text(one);
    const std::string* const other_text = find_text(other);
    if (text != nullptr && other_text != nullptr) return *text == *other_text;
    return one == other;
}

const std::string* find_text(const ScriptValue& value) {
    const auto* const text = std::get_if<ScriptText>(&value);
    return text == nullptr ? nullptr : text->get();
}

ScriptTable* find_table(const ScriptValue& value) {
    const auto* const table = std::get_if<ScriptList>(&value);
    return table == nullptr ? nullptr : table->get();
}

std::optional<double> to_number(const ScriptValue& value) {
    if (const double* const number = std::get_if<double>(&value)) return *number;
    const std::string* const text = find_text(value);
    if (text == nullptr || text->empty() || text->size() > number_bytes_max) return std::nullopt;
    char* end = nullptr;
    const double number = std::strtod(text->c_str(), &end);
    while (*end == ' ') ++end;
    if (end != text->c_str() + text->size()) return std::nullopt;
    return number;
}

std::string to_word(double number) {
    const bool is_whole = std::trunc(number) == number && std::abs(number) <= exact_max;
    if (is_whole) return std::to_string(static_cast<std::int64_t>(number));
    return fmt::format("{:.17g}", number);
}

std::string to_shown(double number) {
    return fmt::format("{:.14g}", number);
}

std::string_view type_name(const ScriptValue& value) {
    constexpr std::string_view names[] = {"nil", "boolean", "number", "string", "table"};
    return names[value.index()];
}

base::Result<ScriptValue> make_text(std::string_view text, StepBudget& budget) {
    TRY(budget.take_bytes(text_cost + text.size()));
    return share(text);
}

base::Result<ScriptValue> make_table(ScriptTable::Kind kind, std::string_view text,
                                     StepBudget& budget) {
    TRY(budget.take_bytes(table_cost + text_cost + text.size()));
    return build_table(kind, text);
}

base::Result<ScriptValue> to_value(const Reply& reply, StepBudget& budget) {
    TRY(budget.take_bytes(value_cost_of(reply)));
    return build_value(reply);
}

base::Result<Reply> to_reply(const ScriptValue& value, StepBudget& budget) {
    TRY(charge_reply(value, budget));
    return build_reply(value);
}

std::size_t cost_of(const Reply& reply) {
    std::size_t cost = sizeof(Reply) + reply.text.size();
    for (const Reply& item : reply.items) cost += cost_of(item);
    return cost;
}

}  // namespace holdfast::doors::redis
