#pragma once

// Clients that want several locks: at once, or one after the other.

#include <optional>
#include <string>
#include <vector>

#include "sim/clients/holder.h"

namespace holdfast::sim {

// Collector: asks for several locks at once, all or nothing, and works under the first of them.
class Collector final : public Holder {
  public:
    using Holder::Holder;

  private:
    void act() override;
};

// CrosswiseUser: takes one lock, and while it holds it asks for another, in whatever order it
// likes. So two of them may wait for each other. Some want to be refused then.
class CrosswiseUser final : public Client {
  public:
    using Client::Client;

  private:
    void act() override;
    void on_reply(const Call& call, const Reply& reply) override;
    void on_lost(const Call& call) override;
    void on_stray_grant(const Reply& reply) override;
    void on_death() override;
    void ask();
    void give_back();

    std::vector<LockTarget> places_;   // that it wants, in this order
    std::vector<core::Token> tokens_;  // that it has
};

}  // namespace holdfast::sim
