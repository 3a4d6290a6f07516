#include "core/values/scope_set.h"

#include <algorithm>
#include <numeric>

#include "base/text/number.h"

namespace holdfast::core {

namespace {

// Takes a number above zero and the character behind it away from the front of `text`. No value for
// a number that is not written as we write it, such as 007.
template <class Number>
std::optional<Number> take_number(std::string_view& text, char end) {
    const std::size_t length = text.find(end);
    if (length == std::string_view::npos || text.starts_with('0')) return std::nullopt;
    const auto number = base::parse_decimal<Number>(text.substr(0, length));
    if (number) text.remove_prefix(length + 1);
    return number;
}

// Takes the first member away from the front of `text`.
std::optional<SetMember> take_member(std::string_view& text) {
    if (!text.starts_with('x') && !text.starts_with('s')) return std::nullopt;
    SetMember member{.mode = text.starts_with('x') ? Mode::exclusive : Mode::shared};
    text.remove_prefix(1);
    if (text.starts_with(' ')) {
        text.remove_prefix(1);
    } else {
        const auto limit = take_number<std::uint32_t>(text, ' ');
        if (!limit || *limit == 1) return std::nullopt;
        member.limit = *limit;
    }
    const auto length = take_number<std::uint64_t>(text, ':');
    if (!length || *length >= text.size() || text[*length] != ',') return std::nullopt;
    const std::string_view scope_text = text.substr(0, *length);
    const auto scope = parse_scope(scope_text);
    if (!scope || to_text(*scope) != scope_text) return std::nullopt;
    member.scope = *scope;
    text.remove_prefix(*length + 1);
    return member;
}

// An order in which scopes that overlap are neighbours: by what is locked, then by the beginning of
// the range.
bool is_sorted_before(const Scope& a, const Scope& b) {
    if (a.is_of_inode() != b.is_of_inode()) return b.is_of_inode();
    if (a.is_of_inode()) {
        return a.inode != b.inode ? a.inode < b.inode : a.range.start < b.range.start;
    }
    return a.kind != b.kind ? a.kind < b.kind : a.name < b.name;
}

bool overlaps(const Scope& a, const Scope& b) {
    if (a.is_of_inode() != b.is_of_inode()) return false;
    if (a.is_of_inode()) return a.inode == b.inode && a.range.overlaps(b.range);
    return a.kind == b.kind && a.name == b.name;
}

}  // namespace

std::string set_to_text(std::span<const SetMember> members) {
    if (members.empty()) return {};
    std::string text = std::to_string(members.size()) + ';';
    for (const SetMember& member : members) {
        const std::string scope_text = to_text(member.scope);
        text += member.mode == Mode::exclusive ? 'x' : 's';
        if (member.limit != 1) text += std::to_string(member.limit);
        text.append(" ").append(std::to_string(scope_text.size())).append(":");
        text.append(scope_text).append(",");
    }
    return text;
}

std::optional<std::vector<SetMember>> parse_set(std::string_view text) {
    std::vector<SetMember> members;
    if (text.empty()) return members;
    const auto count = take_number<std::uint64_t>(text, ';');
    if (!count) return std::nullopt;
    constexpr std::size_t member_length_min = 6;  // "x 1:a,"
    members.reserve(std::min<std::uint64_t>(*count, text.size() / member_length_min));
    while (!text.empty()) {
        const auto member = take_member(text);
        if (!member) return std::nullopt;
        members.push_back(*member);
    }
    if (members.size() != *count) return std::nullopt;
    return members;
}

std::optional<Overlap> find_overlap(std::span<const SetMember> members) {
    std::vector<std::size_t> order(members.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return is_sorted_before(members[a].scope, members[b].scope);
    });
    // Sorted by their beginnings, ranges that are apart stay in their order also by their ends. So
    // if any two overlap, two neighbours do.
    for (std::size_t place = 1; place < order.size(); ++place) {
        const std::size_t a = order[place - 1], b = order[place];
        if (overlaps(members[a].scope, members[b].scope)) {
            return Overlap{.first = std::min(a, b), .second = std::max(a, b)};
        }
    }
    return std::nullopt;
}

}  // namespace holdfast::core
