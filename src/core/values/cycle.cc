#include "core/values/cycle.h"

#include "core/values/fields.h"

namespace holdfast::core {

namespace {

void append_owner(std::string& text, const Owner& owner) {
    append_field(text, std::to_string(static_cast<unsigned>(owner.door)));
    append_field(text, owner.name);
}

std::optional<std::uint64_t> take_number_field(std::string_view& text) {
    const auto field = take_field(text);
    if (!field || field->empty()) return std::nullopt;
    std::uint64_t number = 0;
    const char* const last = field->data() + field->size();
    const auto [after, error] = std::from_chars(field->data(), last, number);
    return error == std::errc{} && after == last ? std::optional(number) : std::nullopt;
}

std::optional<Owner> take_owner(std::string_view& text) {
    const auto door = take_number_field(text);
    const auto name = door && *door <= UINT8_MAX ? take_field(text) : std::nullopt;
    if (!name) return std::nullopt;
    return Owner{.door = static_cast<Door>(*door), .name = *name};
}

}  // namespace

std::string cycle_to_text(std::span<const CycleMember> members) {
    std::string text;
    for (const CycleMember& member : members) {
        append_owner(text, member.owner);
        append_field(text, member.waiter);
        append_field(text, to_text(member.waits_for));
        append_owner(text, member.held_by);
        append_field(text, std::to_string(as_number(member.fence)));
    }
    return text;
}

std::optional<std::vector<CycleMember>> parse_cycle(std::string_view text) {
    if (text.empty()) return std::nullopt;
    std::vector<CycleMember> members;
    while (!text.empty()) {
        const auto owner = take_owner(text);
        const auto waiter = owner ? take_field(text) : std::nullopt;
        const auto field = waiter ? take_field(text) : std::nullopt;
        const auto scope = field ? parse_scope(*field) : std::nullopt;
        const auto held_by = scope ? take_owner(text) : std::nullopt;
        const auto fence = held_by ? take_number_field(text) : std::nullopt;
        if (!fence) return std::nullopt;
        members.push_back({.owner = *owner,
                           .waiter = *waiter,
                           .waits_for = *scope,
                           .held_by = *held_by,
                           .fence = Fence{*fence}});
    }
    return members;
}

std::string describe_cycle(std::span<const CycleMember> members) {
    std::string text;
    for (const CycleMember& member : members) {
        if (!text.empty()) text += ", ";
        text.append(member.owner.name).append(" waits for ").append(to_text(member.waits_for));
        text.append(" of ").append(member.held_by.name);
    }
    return text;
}

}  // namespace holdfast::core
