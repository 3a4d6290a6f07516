#pragma once

// Witness: sees all that the clients of one lock are told, and says when it cannot be true.
//
// Everything is judged by one clock, that of this process, and from the side of doubt:
//
//   - A holder is guaranteed its lock from the moment at which the grant was seen until it sends
//     the release, or until its TTL has passed since the request was sent, whatever is first: the
//     server cannot have begun to count later than the answer came, nor earlier than it was asked.
//     Two holders whose guaranteed times overlap are a fault.
//   - A grant that was asked for after another was seen is the later one, and its number must be
//     larger.
//   - A write that is accepted although the lock was granted, and seen, before somebody else even
//     asked whose write was accepted already, is a stale write.
//
// So what it reports is wrong for sure; it may miss what happens closer together than this tells
// apart. Where a protocol knows no fencing numbers, grants are numbered in the order in which they
// are seen.
//
// Thread safety: everything from any thread.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "load/downstream.h"

namespace holdfast::load {

class Witness {
  public:
    using Clock = std::chrono::steady_clock;
    using TimePoint = Clock::time_point;

    // A request that is about to be sent.
    struct Question {
        TimePoint asked_at;
        std::uint64_t number_seen = 0;  // the largest so far
    };
    // What the server said to it.
    struct Answer {
        std::string owner;
        std::uint64_t fencing_number = 0;  // 0: the protocol has none
        Clock::duration ttl{};
    };
    // A grant, as its holder keeps it.
    struct Hold {
        std::uint64_t id = 0;
        std::uint64_t number = 0;
        TimePoint asked_at;
        TimePoint seen_at;
    };

    explicit Witness(std::string lock, std::function<TimePoint()> now = Clock::now)
        : lock_(std::move(lock)), now_(std::move(now)) {}

    [[nodiscard]] Question ask() const;
    Hold see_grant(const Question& question, const Answer& answer);
    // Writes to what the lock protects. Whether it was accepted.
    bool write(const Hold& hold);
    // The release is about to be sent, or the lock given up.
    void see_release(const Hold& hold);

    [[nodiscard]] Downstream downstream() const;
    // Sentences for people, the first hundred.
    [[nodiscard]] std::vector<std::string> faults() const;
    [[nodiscard]] std::uint64_t fault_count() const;

  private:
    struct Guarantee {
        std::string owner;
        std::uint64_t number;
        TimePoint until;
    };

    void report(std::string fault);

    const std::string lock_;
    const std::function<TimePoint()> now_;
    mutable std::mutex mutex_;
    std::map<std::uint64_t, Guarantee> holders_;  // by Hold::id
    std::uint64_t grants_ = 0;
    std::uint64_t largest_number_ = 0;
    Downstream downstream_;
    TimePoint writer_asked_at_ = TimePoint::min();  // the latest request of an accepted writer
    std::uint64_t fault_count_ = 0;
    std::vector<std::string> faults_;
};

}  // namespace holdfast::load
