#include "holdfast/lock_scope.h"

#include "embedded/translate.h"

namespace holdfast {

bool LockScope::covers(const LockScope& other) const {
    return embedded::to_core(*this).covers(embedded::to_core(other));
}

std::string LockScope::to_text() const {
    return core::to_text(embedded::to_core(*this));
}

std::optional<LockScope> LockScope::parse(std::string_view text) {
    const auto scope = core::parse_scope(text);
    return scope ? embedded::to_scope(*scope) : std::nullopt;
}

}  // namespace holdfast
