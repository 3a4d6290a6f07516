#pragma once

// Holder: a client that works under a lock it holds.
//
// It counts on its lease from the moment it sent the request, so it never believes longer than the
// server. While it works it renews, and adds to the fenced resource behind an exclusive lock: it
// reads, and writes a while later. A careless holder never looks at the time before it does so; the
// fencing number is all that stands between it and a lost update.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/clients/client.h"

namespace holdfast::sim {

class Holder : public Client {
  public:
    using Client::Client;

  protected:
    struct Holding {
        LockTarget place;
        core::Mode mode = core::Mode::exclusive;
        core::Token token;
        core::Owner owner;
        core::Duration ttl{0};
        Moment believed_until;
        std::uint64_t work_left = 0;
        bool varies_ttl = false;
        bool is_careless = false;
    };

    // How this kind of client renews and gives back.
    virtual service::Request renewal(const Holding& holding);
    virtual service::Request give_back(const Holding& holding);

    // Unless a kind of client does otherwise: it takes what an acquire was granted, and thinks again
    // when it was granted nothing.
    void on_reply(const Call& call, const Reply& reply) override;
    void on_lost(const Call& call) override;

    // The lease is its own, by a request that was sent then.
    void take(const Call& call, const Reply& reply, Holding holding);
    // The same for an acquire, as it was asked for. REQUIRES: the call is one.
    void take_granted(const Call& call, const Reply& reply);
    // It has taken a lease.
    virtual void on_taken() {}
    [[nodiscard]] const std::optional<Holding>& holding() const { return holding_; }
    // It finds that the lease is over.
    void lose();
    // Whether a reply was about what it holds, and has been dealt with.
    bool on_held_reply(const Call& call, const Reply& reply);
    // Whether a lost call was a renewal; it is then sent again.
    bool on_held_lost(const Call& call);
    void believe(Moment deadline);
    // Renews before long, but not at once.
    void beat_again();
    void on_stray_grant(const Reply& reply) override;
    void on_death() override { drop(); }

    [[nodiscard]] core::Duration patience() const { return stage_.settings.ttl * 2; }

  private:
    void beat(core::Duration pause);
    void work(std::uint64_t hold);
    void read_and_write(std::uint64_t hold);
    void send_write(std::uint64_t value);
    void finish();
    void drop();
    void haunt(core::Token token);
    [[nodiscard]] bool still_has(std::uint64_t hold) const { return holding_ && hold_ == hold; }

    std::optional<Holding> holding_;
    std::uint64_t hold_ = 0;  // how many there were
    // An owner that renews without a token can come by the same number again; it must then wait
    // for what it has sent with it before.
    Moment last_write_arrives_;
};

}  // namespace holdfast::sim
