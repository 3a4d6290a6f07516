#pragma once

// Witness: sees all answers to the clients of one lock, and reports those that cannot be true.
//
// It uses one clock, that of this process, and reports only what is certainly wrong:
//
//   - A holder is guaranteed its lock from the moment at which it saw the grant. The guarantee ends
//     when the holder sends the release, or when the TTL has passed since the request was sent: the
//     server cannot have started the TTL before it was asked, nor after it answered. Two holders
//     whose guarantees overlap are a fault.
//   - If one grant was seen before another was asked for, the second must have the larger number.
//   - A write is stale if its holder saw the grant before a later holder asked, and the write of
//     that later holder was accepted already. A stale write that is accepted is a fault.
//
// Faults that lie closer together in time than these rules can tell apart are missed. If the protocol
// has no fencing numbers, grants are numbered in the order in which they are seen.
//
// Thread safety: everything from any thread.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace holdfast::load {

// Downstream: the thing that a lock protects, as it should behave. It remembers the largest fencing
// number it was written under and refuses smaller ones, so that a writer that stopped for longer
// than its lease can do no harm.
//
// Thread safety: none.
class Downstream {
  public:
    // Whether the write is accepted.
    bool write(std::uint64_t fencing_number) {
        if (fencing_number < largest_) {
            ++refused_;
            return false;
        }
        largest_ = fencing_number;
        ++accepted_;
        return true;
    }

    [[nodiscard]] std::uint64_t largest() const { return largest_; }
    [[nodiscard]] std::uint64_t accepted() const { return accepted_; }
    [[nodiscard]] std::uint64_t refused() const { return refused_; }

  private:
    std::uint64_t largest_ = 0;
    std::uint64_t accepted_ = 0;
    std::uint64_t refused_ = 0;
};

class Witness {
  public:
    using Clock = std::chrono::steady_clock;
    using TimePoint = Clock::time_point;

    // A request that is about to be sent.
    struct Question {
        TimePoint asked_at;
        std::uint64_t number_seen = 0;  // the largest fencing number so far
    };
    // A grant, as the server sent it.
    struct Answer {
        std::string owner;
        std::uint64_t fencing_number = 0;  // 0: the protocol has none
        Clock::duration ttl{};
    };
    // The same grant, for the calls that follow.
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
    // Writes to the thing that the lock protects. Whether the write was accepted.
    bool write(const Hold& hold);
    // To be called before the release is sent.
    void see_release(const Hold& hold);

    [[nodiscard]] Downstream downstream() const;
    // The first hundred faults, as sentences for people.
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
