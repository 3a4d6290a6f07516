#include "rights/grants.h"

#include <algorithm>
#include <string>
#include <utility>

namespace holdfast::rights {

namespace {

bool holds(const Grant& grant, Right right, Door door) {
    return grant.right >= right && (grant.doors & only(door)) != 0;
}

// `@http,dflockd`.
base::Result<DoorSet> parse_doors(std::string_view word) {
    DoorSet doors = 0;
    word.remove_prefix(1);
    while (true) {
        const std::size_t comma = word.find(',');
        const auto door = parse_door(word.substr(0, comma));
        if (!door) {
            return base::fail(
                "behind @ stand doors, with commas between them: http, dflockd, redis, files");
        }
        doors |= only(*door);
        if (comma == word.npos) return doors;
        word.remove_prefix(comma + 1);
    }
}

tl::unexpected<base::Error> fail_without_pattern(Right right) {
    const std::string word(to_text(right));
    return base::fail(word + " needs a pattern behind it, such as deploy/*; a lock called " + word +
                      " is written named:" + word);
}

}  // namespace

base::Result<Grants> Grants::parse(std::span<const std::string_view> words) {
    std::vector<Grant> grants;
    std::size_t first_of_doors = 0;  // of the grants that the next `@` is for
    Right right = Right::none;
    bool has_pattern = true;
    for (const std::string_view word : words) {
        const auto next_right = parse_right(word);
        const bool is_pattern = !next_right && !word.starts_with('@');
        if (!is_pattern && !has_pattern) return fail_without_pattern(right);
        if (next_right) {
            right = *next_right;
            has_pattern = false;
        } else if (!is_pattern) {
            if (first_of_doors == grants.size()) return base::fail("no rights stand before an @");
            TRY(const DoorSet doors, parse_doors(word));
            for (; first_of_doors < grants.size(); ++first_of_doors) {
                grants[first_of_doors].doors = doors;
            }
            right = Right::none;
        } else {
            if (right == Right::none)
                return base::fail("read, lock or admin stands before patterns");
            if (grants.size() == count_max) {
                return base::fail("a token has " + std::to_string(count_max) + " patterns at most");
            }
            TRY(auto pattern, Pattern::parse(word));
            grants.push_back({.right = right, .pattern = std::move(pattern)});
            has_pattern = true;
        }
    }
    if (!has_pattern) return fail_without_pattern(right);
    if (grants.empty())
        return base::fail("a token needs a right and a pattern, such as lock deploy/*");
    return Grants(std::move(grants));
}

bool Grants::may(Right right, Door door, const core::Scope& scope) const {
    return std::any_of(grants_.begin(), grants_.end(), [&](const Grant& grant) {
        return holds(grant, right, door) && grant.pattern.covers(scope);
    });
}

bool Grants::may_something(Right right, Door door) const {
    return std::any_of(grants_.begin(), grants_.end(),
                       [&](const Grant& grant) { return holds(grant, right, door); });
}

bool Grants::may_below(Right right, Door door, std::string_view beginning) const {
    return std::any_of(grants_.begin(), grants_.end(), [&](const Grant& grant) {
        return holds(grant, right, door) && grant.pattern.reaches_path_below(beginning);
    });
}

Right Grants::everywhere(Door door) const {
    Right greatest = Right::none;
    for (const Grant& grant : grants_) {
        const bool is_for_all = grant.pattern.is_everything() && holds(grant, Right::read, door);
        if (is_for_all) greatest = std::max(greatest, grant.right);
    }
    return greatest;
}

}  // namespace holdfast::rights
