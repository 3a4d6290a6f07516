#pragma once

#include <string_view>

#include "app/credentials.h"
#include "doors/dflockd/dflockd_door.h"

namespace holdfast::app {

// DflockdTokenGate: lets those into the dflockd door who know the auth token, or the admin's.
//
// Thread safety: every method from any thread.
class DflockdTokenGate final : public doors::dflockd::DflockdGate {
  public:
    // The source outlives the gate.
    explicit DflockdTokenGate(const TokenSource& source) : source_(source) {}

    [[nodiscard]] bool is_open() const override;
    [[nodiscard]] bool admits(std::string_view secret) const override;

  private:
    const TokenSource& source_;
};

}  // namespace holdfast::app
