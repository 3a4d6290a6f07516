#pragma once

// A deadlock as a sentence for people, who perhaps may not see all of it.

#include <span>
#include <string>

#include "core/values/cycle.h"

namespace holdfast::core {

// A member that somebody may not see is one without names.
[[nodiscard]] inline bool is_hidden(const CycleMember& member) {
    return member.owner.name.empty() && member.held_by.name.empty();
}

// `ann waits for bob, who holds b and waits for ann`. Of hidden members it tells only what their
// neighbours show.
[[nodiscard]] std::string cycle_sentence(std::span<const CycleMember> members);

}  // namespace holdfast::core
