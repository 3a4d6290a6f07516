#include "service/books/fence_book.h"

#include <utility>

#include "base/check.h"

namespace holdfast::service {

using Kind = FenceOutcome::Kind;
using Wait = FenceOutcome::Wait;

FenceOutcome FenceBook::raise(std::string_view resource, core::Fence fence) {
    const std::uint64_t number = core::as_number(fence);
    CHECK(number > 0);
    if (resource.size() > limits_.resource_length_max) return {.kind = Kind::resource_length_max};
    auto found = marks_.find(resource);
    if (found == marks_.end()) {
        if (marks_.size() >= limits_.resources_max) return refuse(Kind::resources_max);
        found = marks_.emplace(resource, Mark{}).first;
    }
    Mark& mark = found->second;
    if (number < mark.highest) return answer(Kind::stale, mark);
    if (number > mark.highest) set(resource, mark, number);
    return answer(Kind::accepted, mark);
}

FenceOutcome FenceBook::read(std::string_view resource) const {
    const auto found = marks_.find(resource);
    return found == marks_.end() ? refuse(Kind::unknown) : answer(Kind::accepted, found->second);
}

FenceOutcome FenceBook::drop(std::string_view resource) {
    const auto found = marks_.find(resource);
    if (found == marks_.end()) return refuse(Kind::unknown);
    const std::uint64_t highest = found->second.highest;
    set(resource, found->second, 0);
    FenceOutcome outcome = answer(Kind::accepted, found->second);
    outcome.highest = highest;
    marks_.erase(found);
    return outcome;
}

void FenceBook::restore(const FenceMark& mark) {
    marks_[mark.resource] = {.highest = mark.highest};
}

std::vector<FenceMark> FenceBook::begin_commit() {
    ++next_commit_;
    std::vector<FenceMark> marks;
    marks.reserve(uncommitted_.size());
    for (const auto& [resource, highest] : std::exchange(uncommitted_, {})) {
        marks.push_back({.resource = resource, .highest = highest});
    }
    return marks;
}

// An answer that rests on this mark.
FenceOutcome FenceBook::answer(Kind kind, const Mark& mark) const {
    const Wait wait = mark.commit == next_commit_ ? Wait::next_commit
                      : mark.commit > committed_  ? Wait::commit_under_way
                                                  : Wait::nothing;
    return {.kind = kind, .highest = mark.highest, .wait = wait};
}

// An answer that rests on there being no mark, or too many.
FenceOutcome FenceBook::refuse(Kind kind) const {
    const Wait wait = has_uncommitted()               ? Wait::next_commit
                      : next_commit_ - 1 > committed_ ? Wait::commit_under_way
                                                      : Wait::nothing;
    return {.kind = kind, .wait = wait};
}

void FenceBook::set(std::string_view resource, Mark& mark, std::uint64_t highest) {
    mark.highest = highest;
    if (keeping_ == Keeping::in_memory) return;
    mark.commit = next_commit_;
    uncommitted_.insert_or_assign(std::string(resource), highest);
}

}  // namespace holdfast::service
