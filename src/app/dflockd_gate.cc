#include "app/dflockd_gate.h"

#include "base/secret.h"

namespace holdfast::app {

bool DflockdTokenGate::is_open() const {
    return source_.current()->auth.empty();
}

bool DflockdTokenGate::admits(std::string_view secret) const {
    const auto tokens = source_.current();
    const bool is_user = base::equal_in_constant_time(secret, tokens->auth);
    const bool is_admin = base::equal_in_constant_time(secret, tokens->admin);
    return (is_user && !tokens->auth.empty()) || (is_admin && !tokens->admin.empty());
}

}  // namespace holdfast::app
