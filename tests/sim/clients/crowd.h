#pragma once

// The kinds of clients.

#include <optional>

#include "sim/clients/holder.h"

namespace holdfast::sim {

// Worker: asks for a lock, now or after a wait, and knows its token. Some give their requests an
// id, and ask again by it when no answer comes.
class Worker final : public Holder {
  public:
    using Holder::Holder;

  private:
    void act() override;
    void on_reply(const Call& call, const Reply& reply) override;
    void on_lost(const Call& call) override;
    void on_death() override;
    void ask();

    // What it asks for, and when it first did.
    core::AcquireRequest request_;
    Moment first_sent_;
    core::Duration patience_{0};
};

// HomelabUser: always the same owner of always the same lock, who renews by asking again, is kept
// waiting for in grace, and gives back without a token.
class HomelabUser final : public Holder {
  public:
    HomelabUser(Stage& stage, std::size_t index, std::string name);

  private:
    void act() override;
    void on_reply(const Call& call, const Reply& reply) override;
    void on_lost(const Call& call) override;
    void on_stray_grant(const Reply& reply) override;
    service::Request renewal(const Holding& holding) override;
    service::Request give_back(const Holding& holding) override;

    const LockTarget place_;
    const core::AcquireRequest request_;
};

// SessionUser: opens a session on its connection, queues in it, and waits in a second request. What
// it has ends with the connection.
class SessionUser final : public Holder {
  public:
    SessionUser(Stage& stage, std::size_t index, std::string name);

  private:
    void act() override;
    void on_reply(const Call& call, const Reply& reply) override;
    void on_lost(const Call& call) override;
    void on_reset() override;
    void on_death() override;
    void enqueue();
    void on_enqueued(const Call& call, const Reply& reply);
    void on_waited(const Call& call, const Reply& reply);
    void leave();

    // A request that arrives twice can take the place of a later one, so all are alike.
    const core::Mode mode_;
    core::SessionId session_;
    LockTarget place_;
    core::AcquireRequest request_;
};

// Admin: looks around, and takes locks away from people.
class Admin final : public Client {
  public:
    using Client::Client;

  private:
    void act() override;
    void on_reply(const Call& /*call*/, const Reply& /*reply*/) override {}
    void on_lost(const Call& /*call*/) override {}
    void on_stray_grant(const Reply& /*reply*/) override {}
    void on_death() override {}
};

}  // namespace holdfast::sim
