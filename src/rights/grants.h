#pragma once

// Grants: everything that one token may do.
//
// As people write it, one word after the other:
//
//     lock deploy/* read *                  holds at every door
//     lock deploy/* @dflockd read * @http   what stands before an `@` holds at those doors only
//
// `read`, `lock` and `admin` are followed by one or more patterns. A word `@http,dflockd` limits what
// stands before it, back to the previous such word.
//
// Thread safety: grants do not change.

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/values/scope.h"
#include "rights/pattern.h"
#include "rights/right.h"

namespace holdfast::rights {

// A right, what for, and where.
struct Grant {
    Right right = Right::none;
    Pattern pattern = Pattern::everything();
    DoorSet doors = all_doors;
};

class Grants {
  public:
    // How many a token may have: every request looks at all of them.
    static constexpr std::size_t count_max = 100;

    Grants() = default;  // nothing
    explicit Grants(std::vector<Grant> grants) : grants_(std::move(grants)) {}

    // Reads the words. An error says which rule is broken, and repeats nothing but rights and doors.
    [[nodiscard]] static base::Result<Grants> parse(std::span<const std::string_view> words);
    // This right on everything, at every door.
    [[nodiscard]] static Grants everything(Right right) { return Grants({{.right = right}}); }

    [[nodiscard]] bool may(Right right, Door door, const core::Scope& scope) const;
    // Whether there is anything at all that this right is for.
    [[nodiscard]] bool may_something(Right right, Door door) const;
    // Whether the right is for some path that begins so.
    [[nodiscard]] bool may_below(Right right, Door door, std::string_view beginning) const;
    // The greatest right on everything.
    [[nodiscard]] Right everywhere(Door door) const;

  private:
    std::vector<Grant> grants_;
};

}  // namespace holdfast::rights
