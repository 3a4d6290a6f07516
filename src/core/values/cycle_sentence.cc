#include "core/values/cycle_sentence.h"

namespace holdfast::core {

std::string cycle_sentence(std::span<const CycleMember> members) {
    if (members.empty()) return "those who wait for one another are not known";
    const auto name_in_the_way = [&](std::size_t index) {
        const CycleMember& member = members[index];
        const CycleMember& next = members[(index + 1) % members.size()];
        if (!is_hidden(member)) return member.held_by.name;
        return is_hidden(next) ? std::string_view("somebody") : next.owner.name;
    };
    std::string text(name_in_the_way(members.size() - 1));
    text += " waits for ";
    for (std::size_t index = 0; index < members.size(); ++index) {
        const CycleMember& member = members[index];
        const bool is_last = index + 1 == members.size();
        text += name_in_the_way(index);
        if (is_last && members.size() > 1) break;
        if (!is_hidden(member)) {
            const bool is_held = as_number(member.fence) > 0;
            text += is_held ? ", who holds " : ", who is before it in the queue of ";
            text += to_text(member.waits_for);
        }
        if (!is_last) text += is_hidden(member) ? ", who waits for " : " and waits for ";
    }
    return text;
}

}  // namespace holdfast::core
