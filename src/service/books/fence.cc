#include "service/books/fence.h"

#include <utility>

#include "base/check.h"
#include "base/text/utf8.h"

namespace holdfast::service {

using Kind = FenceOutcome::Kind;

FenceOutcome FenceBook::raise(std::string_view resource, core::Fence fence, CommitNumber commit) {
    const std::uint64_t number = core::as_number(fence);
    CHECK(number > 0);
    if (resource.size() > limits_.resource_length_max) return {.kind = Kind::resource_length_max};
    auto found = marks_.find(resource);
    if (found == marks_.end()) {
        if (!base::is_utf8(resource)) return {.kind = Kind::resource_not_utf8};
        if (marks_.size() >= limits_.resources_max) return refuse(Kind::resources_max);
        found = marks_.emplace(resource, Mark{}).first;
    }
    Mark& mark = found->second;
    if (number < mark.highest) return answer(Kind::stale, mark);
    if (number > mark.highest) set(resource, mark, {.highest = number, .commit = commit});
    return answer(Kind::accepted, mark);
}

FenceOutcome FenceBook::read(std::string_view resource) const {
    const auto found = marks_.find(resource);
    return found == marks_.end() ? refuse(Kind::unknown) : answer(Kind::accepted, found->second);
}

FenceOutcome FenceBook::drop(std::string_view resource, CommitNumber commit) {
    const auto found = marks_.find(resource);
    if (found == marks_.end()) return refuse(Kind::unknown);
    const std::uint64_t highest = found->second.highest;
    set(resource, found->second, {.commit = commit});
    FenceOutcome outcome = answer(Kind::accepted, found->second);
    outcome.highest = highest;
    marks_.erase(found);
    return outcome;
}

void FenceBook::restore(const FenceMark& mark) {
    marks_[mark.resource] = {.highest = mark.highest};
}

std::vector<FenceMark> FenceBook::take_uncommitted() {
    std::vector<FenceMark> marks;
    marks.reserve(uncommitted_.size());
    for (const auto& [resource, highest] : std::exchange(uncommitted_, {})) {
        marks.push_back({.resource = resource, .highest = highest});
    }
    return marks;
}

// An answer that says what this mark is.
FenceOutcome FenceBook::answer(Kind kind, const Mark& mark) {
    return {.kind = kind, .highest = mark.highest, .rests_on = mark.commit};
}

// An answer that says that there is no mark, or that there are too many.
FenceOutcome FenceBook::refuse(Kind kind) const {
    return {.kind = kind, .rests_on = last_change_};
}

void FenceBook::set(std::string_view resource, Mark& mark, const Mark& to) {
    if (keeping_ == Keeping::in_memory) {
        mark.highest = to.highest;
        return;
    }
    mark = to;
    last_change_ = to.commit;
    uncommitted_.insert_or_assign(std::string(resource), to.highest);
}

}  // namespace holdfast::service
