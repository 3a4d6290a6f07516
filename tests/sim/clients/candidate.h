#pragma once

#include <string_view>

#include "sim/clients/holder.h"

namespace holdfast::sim {

// Candidate: waits for a lock to lead by it, and tells others by the value of its lease what it does.
// Some look at the lock, to see who leads.
class Candidate final : public Holder {
  public:
    using Holder::Holder;

  private:
    void act() override;
    void on_taken() override;
    void stand();
    // Sets another value before long, and again, while it has this lease.
    void announce(core::Token token);

    std::string_view value_;  // the last that it has sent
};

}  // namespace holdfast::sim
