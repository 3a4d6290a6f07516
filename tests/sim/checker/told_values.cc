#include "sim/checker/told_values.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::sim {

void ToldValues::on_told(const ValueOfLease& value, Moment decided) {
    const auto [entry, is_first] =
        told_.try_emplace(value.token.fence, Told{.newest = value, .decided = decided});
    if (is_first) return;
    Told& told = entry->second;
    compare(told.newest, value);
    const bool is_newer = value.revision > told.newest.revision;
    const bool is_older = value.revision < told.newest.revision;
    if ((is_older && decided > told.decided) || (is_newer && decided < told.decided)) {
        world_.accuse(14, fmt::format("the value of #{} goes back from revision {} to {}",
                                      core::as_number(value.token.fence),
                                      std::max(value.revision, told.newest.revision),
                                      std::min(value.revision, told.newest.revision)));
    }
    if (is_newer || (!is_older && decided < told.decided)) {
        told = {.newest = value, .decided = decided};
    }
}

void ToldValues::on_restored(const ValueOfLease& value) {
    const auto entry = told_.find(value.token.fence);
    if (entry == told_.end()) return;
    const ValueOfLease& told = entry->second.newest;
    compare(told, value);
    if (value.revision >= told.revision) return;
    world_.accuse(14,
                  fmt::format("#{} is found again with revision {} of its value, and somebody "
                              "was told of revision {}",
                              core::as_number(value.token.fence), value.revision, told.revision));
}

void ToldValues::compare(const ValueOfLease& known, const ValueOfLease& other) {
    if (known.revision != other.revision || known.value == other.value) return;
    world_.accuse(14,
                  fmt::format("revision {} of the value of #{} is '{}' and '{}'", known.revision,
                              core::as_number(known.token.fence), known.value, other.value));
}

}  // namespace holdfast::sim
