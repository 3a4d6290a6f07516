#include "core/values/scope_set.h"

#include <algorithm>
#include <numeric>

#include "core/values/fields.h"

namespace holdfast::core {

namespace {

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
    std::string text;
    for (const SetMember& member : members) {
        const bool is_semaphore = member.scope.kind == ScopeKind::semaphore;
        text += member.mode == Mode::exclusive || is_semaphore ? 'x' : 's';
        text.append(std::to_string(is_semaphore ? member.limit : 1)).append(":");
        append_field(text, to_text(member.scope));
    }
    return text;
}

std::optional<std::vector<SetMember>> parse_set(std::string_view text) {
    if (text.empty()) return std::nullopt;
    std::vector<SetMember> members;
    while (!text.empty()) {
        const char mode = text.front();
        text.remove_prefix(1);
        const auto limit = take_number(text, ':');
        const auto field = limit ? take_field(text) : std::nullopt;
        const auto scope = field ? parse_scope(*field) : std::nullopt;
        if (!scope || (mode != 'x' && mode != 's') || *limit > UINT32_MAX) return std::nullopt;
        members.push_back({.scope = *scope,
                           .mode = mode == 'x' ? Mode::exclusive : Mode::shared,
                           .limit = static_cast<std::uint32_t>(*limit)});
    }
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
